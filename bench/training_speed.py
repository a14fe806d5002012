"""Training speed against PyTorch's own `nn.Transformer`: same sizes, batches, loss, optimiser.

    python -m bench.training_speed configs/multi30k-tiny.yaml

Both take the same steps in alternating rounds of one process; the ratio is the median over rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm

from bench.pytorch_transformer import PytorchTransformer
from model.data.batches import epoch_order
from model.data.corpus import Corpus
from model.data.group import Group
from model.data.tokenised import tokenise
from model.data.vocabulary import train_vocabulary
from model.training.config import TrainingConfig
from model.training.distributed import World
from model.training.learner import Learner
from model.training.process import prepare_process
from model.transformer import Transformer
from serving.machine import machine

Step = Callable[[int, Group], None]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("config", type=Path, help="a training configuration")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=8, help="steps of each in a round")
    arguments = parser.parse_args()
    prepare_process()
    torch.set_num_threads(arguments.threads)
    print(machine(), f"PyTorch {torch.__version__}, {arguments.threads} threads", sep=", ")
    config = TrainingConfig.load(arguments.config)
    groups = _groups(config, arguments.steps)
    both = {"dragoman": _ours(config), "nn.Transformer": _theirs(config)}
    rates: dict[str, list[float]] = {name: [] for name in both}
    for step in both.values():
        _rate(step, groups)  # warms caches up
    for _ in tqdm(range(arguments.rounds), unit="round"):
        for name, step in both.items():
            rates[name].append(_rate(step, groups))
    for name, found in rates.items():
        print(f"{name:15} {statistics.median(found):8,.0f} target tokens/s")
    ratios = [a / b for a, b in zip(*rates.values(), strict=True)]
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def _groups(config: TrainingConfig, steps: int) -> list[Group]:
    files = config.text_pairs()
    corpus = Corpus.read(files.source, files.target)
    vocabulary = Path("build") / f"{config.output.name}.model"
    vocabulary.parent.mkdir(exist_ok=True)
    pairs = tokenise(corpus, train_vocabulary(corpus, config.vocabulary, vocabulary))
    options = config.optimisation
    usable = pairs.usable(options.max_length)
    order = epoch_order(pairs, usable, options.batch_tokens, config.seed, 0)
    size = options.accumulate
    return [
        Group(pairs, order[i * size : (i + 1) * size], config.model, 0, 0) for i in range(steps)
    ]


def _rate(step: Step, groups: list[Group]) -> float:
    """Target tokens a second."""
    began = time.perf_counter()
    for number, group in enumerate(groups, start=1):
        step(number, group)
    return sum(group.tokens for group in groups) / (time.perf_counter() - began)


def _ours(config: TrainingConfig) -> Step:
    world = World(torch.device("cpu"))
    model = Transformer(config.model).train()
    learner = Learner(model, config.optimisation, config.seed, world)

    def step(number: int, group: Group) -> None:
        learner.step(number, group)

    return step


def _theirs(config: TrainingConfig) -> Step:
    model = PytorchTransformer(config.model).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    options = config.optimisation

    def step(_number: int, group: Group) -> None:
        optimiser.zero_grad(set_to_none=True)
        for place in range(len(group)):
            loss = model(group.batch(place), options.label_smoothing)
            (loss / group.tokens).backward()
            loss.item()  # for the log, as ours
        nn.utils.clip_grad_norm_(model.parameters(), options.clip_norm)
        optimiser.step()

    return step


if __name__ == "__main__":
    main()

"""From sentence pairs to translations, by the commands that a person would type."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

from tests.e2e.launched import ROOT

CONFIG = """\
output: {run}
train: {{source: {source}, target: {target}}}
validation_set: {{source: {source}, target: {target}}}
vocabulary: {{size: 330}}
model: {{preset: tiny, d_model: 32, d_ff: 64, encoder_layers: 1, decoder_layers: 1}}
optimisation: {{steps: 120, batch_tokens: 400, warmup: 20, peak_rate: 0.01}}
checkpoints: {{every: 40, average: 2}}
validation: {{every: 60, sentences: 20}}
"""

WORDS = {"one": "eins", "two": "zwei", "three": "drei", "red": "rot", "blue": "blau"}


def dragoman(*arguments: str | Path) -> str:
    """Standard output of a command, which must succeed."""
    command = [sys.executable, "-m", "serving.cli", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_train_export_translate_evaluate(tmp_path: Path) -> None:
    draw = random.Random(2)
    lines = [draw.choices(list(WORDS), k=draw.randint(1, 5)) for _ in range(200)]
    source, target = tmp_path / "text.en", tmp_path / "text.de"
    source.write_text("".join(" ".join(line) + "\n" for line in lines))
    target.write_text("".join(" ".join(WORDS[w] for w in line) + "\n" for line in lines))
    config, run = tmp_path / "config.yaml", tmp_path / "run"
    config.write_text(CONFIG.format(run=run, source=source, target=target))

    dragoman("train", config)
    assert list((run / "tensorboard").iterdir())
    bundle = tmp_path / "repository" / "translator" / "1"
    dragoman("export", run / "averaged", bundle)

    output = tmp_path / "output.de"
    dragoman("translate", source, "--repository", tmp_path / "repository", "--output", output)
    assert len(output.read_text().splitlines()) == len(lines)

    files: list[str | Path] = ["--source", source, "--reference", target, "--json"]
    by_torch = json.loads(dragoman("evaluate", run / "averaged", *files))
    by_onnx = json.loads(dragoman("evaluate", tmp_path / "repository", *files))
    assert by_torch == by_onnx
    assert by_torch["bleu"] > 50, "120 steps suffice for a dictionary of five words"
    assert "nrefs:1" in by_torch["bleu_signature"]

"""An exported model becomes the checkpoint again that it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from export.commands.recover import run
from export.cpu.graphs import cpu_graphs
from export.cpu.precision import Fp32
from export.cpu_engine import precise_graphs
from export.onnx_graphs import Graphs
from export.recovery import note_config, recover
from model.checkpoint import load_transformer
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.bundle import DECODER_STEP, ENCODER, SPEC, manifest
from serving.errors import ConfigError
from serving.text import VOCABULARY
from tests.parity.models import small_model

SHAPES: dict[str, dict[str, Any]] = {
    "post": {"encoder_layers": 3},
    "pre": {"norm": "pre", "decoder_layers": 1, "vocab_size": 1500},
    "learned": {"positions": "learned", "max_positions": 60, "encoder_attention": "window"},
    "no positions": {"positions": "none", "vocab_size": 128},
}


def bundle(folder: Path, graphs: Graphs, model: Transformer) -> Path:
    contents = {
        ENCODER: graphs.encoder.SerializeToString(),
        DECODER_STEP: graphs.decoder_step.SerializeToString(),
        VOCABULARY: b"a vocabulary",
    }
    contents[SPEC] = manifest(TorchEngine(model).spec, contents).encode()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


class Arguments:
    def __init__(self, repository: Path, checkpoint: Path) -> None:
        self.repository, self.checkpoint = repository, checkpoint


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("listed", [False, True])
def test_weights_are_what_they_were(tmp_path: Path, shape: str, listed: bool) -> None:
    model = small_model(**SHAPES[shape])
    folder = bundle(tmp_path, cpu_graphs(model, Fp32(), listed), model)
    checkpoint = tmp_path / "checkpoint"
    assert run(Arguments(folder, checkpoint)) == 0  # type: ignore[arg-type]
    again = load_transformer(checkpoint)
    assert again.config == model.config
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name]), name
    assert (checkpoint / VOCABULARY).read_bytes() == b"a vocabulary"
    with pytest.raises(ConfigError, match="exists already"):
        run(Arguments(folder, checkpoint))  # type: ignore[arg-type]


def test_int8_cannot_be_recovered(tmp_path: Path) -> None:
    model = small_model()
    sample = [[5, 6, 7, 2], [8, 2]]
    folder = bundle(tmp_path, precise_graphs(model, "int8", sample), model)
    with pytest.raises(ConfigError, match="holds no FP32 weights of .* only a model"):
        recover(folder)


def test_a_graph_that_does_not_say_what_it_is_of_is_refused(tmp_path: Path) -> None:
    model = small_model()
    graphs = cpu_graphs(model, Fp32())
    graphs.encoder.ClearField("metadata_props")
    with pytest.raises(ConfigError, match="an earlier version exported it"):
        recover(bundle(tmp_path, graphs, model))
    note_config(graphs.encoder, model.config)
    assert recover(bundle(tmp_path, graphs, model))[1] == model.config

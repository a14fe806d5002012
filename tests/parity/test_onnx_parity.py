"""The portable graphs, those that TensorRT takes, against PyTorch; what refuses a wrong export."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export.bundle_writer import write_bundle
from export.onnx_graphs import Graphs, export_graphs
from export.proof import ProofError, prove
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.bundle import Bundle, find_bundle
from serving.engine import Edits, Ids, pad
from serving.errors import ConfigError
from serving.grid import GridDecoder, GridEngine
from tests.parity.company import assert_company_changes_nothing
from tests.parity.models import random_edits, random_sentences, small_model
from tests.parity.portable_engine import PortableEngine


@pytest.fixture(scope="module", params=["post", "pre"])
def transformer(request: pytest.FixtureRequest) -> Transformer:
    return small_model(norm=request.param)


@pytest.fixture(scope="module")
def graphs(transformer: Transformer) -> Graphs:
    return export_graphs(transformer)


@pytest.fixture(scope="module")
def engines(transformer: Transformer, graphs: Graphs) -> tuple[TorchEngine, PortableEngine]:
    reference = TorchEngine(transformer)
    return reference, PortableEngine(graphs, reference.spec)


def test_graphs_hold_no_path_of_this_machine(graphs: Graphs) -> None:
    here = str(Path(__file__).parents[2]).encode()
    for graph in (graphs.encoder, graphs.decoder_step):
        content = graph.SerializeToString()
        assert here not in content
        assert b".py" not in content


@pytest.mark.parametrize("batch", [1, 3, 8])
@pytest.mark.parametrize("beams", [1, 2, 5, 8])
@pytest.mark.parametrize("longest", [1, 6, 40])
def test_steps_of_any_shape_and_age_agree(
    engines: tuple[TorchEngine, PortableEngine], batch: int, beams: int, longest: int
) -> None:
    """Shapes other than the traced ones (B 2, K 3, S 5, T 4), rows of random age and parent."""
    random = np.random.default_rng(batch * 100 + beams * 10 + longest)
    source, lengths = pad(random_sentences(random, batch, longest), 0)
    both: tuple[GridEngine[Any, Any], ...] = engines
    memories = [engine.encode(source, lengths) for engine in both]
    caches: list[Any] = [None, None]
    rows = batch * beams
    position = np.zeros(rows, dtype=np.int64)
    parent = np.zeros(rows, dtype=np.int64)
    for _ in range(6):
        token = random.integers(1, 90, rows)
        edits = random_edits(random, rows, 90)
        found = []
        for which, engine in enumerate(both):
            candidates, caches[which] = engine.step(
                memories[which], caches[which], token, position, parent, edits
            )
            found.append(candidates)
        np.testing.assert_allclose(found[0].log_prob, found[1].log_prob, atol=1e-4)
        np.testing.assert_array_equal(found[0].token[:, 0], found[1].token[:, 0])
        np.testing.assert_allclose(found[0].edited, found[1].edited, rtol=1e-5, atol=1e-4)
        parent = random.integers(0, rows, rows)
        young = random.random(rows) < 0.2  # as if these rows had just joined
        position = np.where(young, 0, position[parent] + 1)


def test_a_step_keeps_no_more_columns_than_the_oldest_row_sees(
    engines: tuple[TorchEngine, PortableEngine],
) -> None:
    _, engine = engines
    memory = engine.encode(*pad([[5, 2]], 0))
    cache: Any = None
    one = np.zeros(1, dtype=np.int64)
    for position in (0, 1, 2, 3, 0, 1):
        _, cache = engine.step(memory, cache, one + 5, one + position, one, Edits.none(1))
        assert cache[0].shape()[2] == position + 1


@pytest.mark.parametrize("beam_size", [1, 4])
def test_translations_agree(engines: tuple[TorchEngine, PortableEngine], beam_size: int) -> None:
    sentences = random_sentences(np.random.default_rng(0), 20, 12)
    assert prove(*engines, sentences, beams=(beam_size,)).largest_difference < 1e-4


def test_company_changes_nothing(engines: tuple[TorchEngine, PortableEngine]) -> None:
    for engine in engines:
        assert_company_changes_nothing(engine, seed=5, tolerance=2e-5)


class WrongEngine:
    """Shifts one log-probability, or one token, of an engine that is right."""

    def __init__(self, engine: TorchEngine, log_prob: float, token: int) -> None:
        self._engine, self._log_prob, self._token = engine, log_prob, token
        self.spec = engine.spec

    def decoder(self) -> GridDecoder[Any, Any]:
        return GridDecoder(self)

    def encode(self, source: Ids, lengths: Ids) -> Any:
        return self._engine.encode(source, lengths)

    def step(self, *inputs: Any) -> Any:
        found, cache = self._engine.step(*inputs)
        log_prob, token = found.log_prob.copy(), found.token.copy()
        log_prob[0, 1] += self._log_prob
        token[0, 0] = (token[0, 0] + self._token) % self.spec.vocab_size
        return dataclasses.replace(found, log_prob=log_prob, token=token), cache


@pytest.mark.parametrize(
    ("log_prob", "token", "message"),
    [(2e-4, 0, "differ by up to"), (float("nan"), 0, "differ by up to"), (0.0, 1, "translations")],
)
def test_a_wrong_engine_is_refused(
    engines: tuple[TorchEngine, PortableEngine], log_prob: float, token: int, message: str
) -> None:
    sentences = random_sentences(np.random.default_rng(1), 4, 8)
    with pytest.raises(ProofError, match=message):
        prove(engines[0], WrongEngine(engines[0], log_prob, token), sentences)


def test_a_bundle_is_refused_when_a_file_is_of_another_export(
    tmp_path: Path, engines: tuple[TorchEngine, PortableEngine], graphs: Graphs
) -> None:
    vocabulary = tmp_path / "source.model"
    vocabulary.write_bytes(b"vocabulary")
    folder = tmp_path / "translator" / "1"
    write_bundle(folder, graphs, engines[0].spec, vocabulary)
    assert find_bundle(tmp_path) == folder
    assert Bundle.open(folder).spec == engines[0].spec
    assert sorted(p.name for p in folder.iterdir()) == [
        "decoder_step.onnx",
        "encoder.onnx",
        "model.json",
        "vocabulary.model",
    ]
    with (folder / "encoder.onnx").open("ab") as file:
        file.write(b"x")
    with pytest.raises(ConfigError, match="encoder.onnx is not the file"):
        Bundle.open(folder)
    (folder / "encoder.onnx").unlink()
    with pytest.raises(ConfigError, match="encoder.onnx is missing"):
        Bundle.open(folder)

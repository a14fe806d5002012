"""The graphs for GPUs and the engine of fixed shapes: equal to PyTorch, whatever is in flight."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
import pytest

from export.gpu.graphs import gpu_graphs
from export.onnx_graphs import Graphs
from export.proof import prove
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.engine import IMPOSSIBLE, NEVER, Demand, Edits, Rows
from serving.engines.gpu.device import EDIT_ROOM
from serving.engines.gpu.memory import total_bytes
from serving.engines.gpu.tensorrt import TensorRtDevice, TensorRtEngine
from serving.errors import ConfigError, DragomanError, RequestError
from serving.options import DecodingOptions
from serving.scheduler import Scheduler
from tests.parity.company import assert_company_changes_nothing
from tests.parity.fake_gpu import FakeCudart
from tests.parity.flight import Flight, assert_decoders_agree, has_room
from tests.parity.gpu_engine import SMALL_SHAPES, gpu_engine
from tests.parity.models import joining, random_sentences, small_model

MODELS: dict[str, dict[str, Any]] = {
    "post": {"vocab_size": 1500},  # selection in two stages, the last group not full
    "pre": {"norm": "pre", "positions": "learned", "max_positions": 60},
}


@pytest.fixture(scope="module", params=MODELS)
def transformer(request: pytest.FixtureRequest) -> Transformer:
    return small_model(**MODELS[request.param])


@pytest.fixture(scope="module")
def graphs(transformer: Transformer) -> Graphs:
    return gpu_graphs(transformer, "fp32")


@pytest.fixture(scope="module")
def post() -> tuple[TorchEngine, Graphs]:
    model = small_model(decoder_layers=1)
    return TorchEngine(model), gpu_graphs(model, "fp32")


@pytest.fixture(scope="module")
def engine(transformer: Transformer, graphs: Graphs) -> TensorRtEngine:
    return gpu_engine(graphs, TorchEngine(transformer).spec)


@pytest.mark.parametrize("seed", range(4))
def test_every_step_of_a_random_flight_agrees(
    transformer: Transformer, engine: TensorRtEngine, seed: int
) -> None:
    """Beams of every width, on several boards at once, that outgrow them one after the other."""
    assert_decoders_agree([TorchEngine(transformer).decoder(), engine.decoder()], seed)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_translations_agree(
    transformer: Transformer, engine: TensorRtEngine, beam_size: int
) -> None:
    sentences = random_sentences(np.random.default_rng(0), 20, 12)
    proof = prove(TorchEngine(transformer), engine, sentences[:12], beams=(beam_size,))
    assert proof.largest_difference < 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_company_changes_nothing(engine: TensorRtEngine, seed: int) -> None:
    assert_company_changes_nothing(engine, seed, tolerance=2e-5)


def test_graphs_are_replayed_and_give_what_plain_calls_give(
    post: tuple[TorchEngine, Graphs],
) -> None:
    torch_engine, graphs = post
    found = []
    for cuda_graphs in (True, False):
        cudart = FakeCudart()
        engine = gpu_engine(graphs, torch_engine.spec, cudart=cudart, cuda_graphs=cuda_graphs)
        before = cudart.executed
        decoder = engine.decoder()
        flight, results = Flight(3), []
        for _ in range(12):
            new = flight.joining(partial(has_room, decoder))
            if new:
                decoder.join(*new)
            results.append(decoder.step(flight.rows()))
            decoder.select(flight.leaving())
        found.append(results)
        runs = cudart.executed - before
        assert runs > 12
        assert cudart.launched_graphs == (runs if cuda_graphs else 0)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one.log_prob, other.log_prob)
        np.testing.assert_array_equal(one.token, other.token)


def test_more_edits_than_a_plan_has_room_for_are_made_to_its_candidates(
    post: tuple[TorchEngine, Graphs],
) -> None:
    """Blocked and penalised tokens beyond the room; the candidates that are left are right."""
    torch_engine, graphs = post
    random, rows, width = np.random.default_rng(4), 3, EDIT_ROOM + 10
    edits = Edits.none(rows, width)
    for row in range(rows):
        edits.ids[row] = random.permutation(90)[:width]
    edits.factor[:, ::2], edits.addend[:, 1::2] = 3.0, NEVER
    edits.ids[2], edits.factor[2], edits.addend[2] = 7, 1.5, 0  # one edit, repeated
    zeros = np.zeros(rows, dtype=np.int64)
    step = Rows(np.arange(rows), zeros + 1, zeros, zeros, edits)
    found, unedited = [], []
    for engine in (torch_engine, gpu_engine(graphs, torch_engine.spec)):
        decoder = engine.decoder()
        decoder.join(*joining([[5, 6, 2], [7, 2], [8, 9, 10, 2]]))
        found.append(decoder.step(step))
        unedited.append(decoder.step(dataclasses.replace(step, edits=None)).log_prob)
    np.testing.assert_allclose(unedited[0], unedited[1], atol=1e-4)  # the step before is forgotten
    for row in range(rows):
        exact, late = (
            {t: p for t, p in zip(f.token[row], f.log_prob[row], strict=True) if p > IMPOSSIBLE}
            for f in found
        )
        shared = exact.keys() & late.keys()
        assert len(shared) > 5
        assert [late[t] for t in shared] == pytest.approx([exact[t] for t in shared], abs=1e-4)
        assert list(late.values()) == sorted(late.values(), reverse=True)


def test_a_scheduler_never_overfills_the_boards(post: tuple[TorchEngine, Graphs]) -> None:
    """Many more sentences than slots, of all beam sizes; each gets its translation."""
    torch_engine, graphs = post
    random = np.random.default_rng(8)
    sentences = random_sentences(random, 40, 14)
    beams = random.integers(1, 9, 40).tolist()
    found = []
    for engine in (torch_engine, gpu_engine(graphs, torch_engine.spec)):
        with Scheduler(engine) as scheduler:
            futures = [
                scheduler.submit([ids], DecodingOptions(beam))
                for ids, beam in zip(sentences, beams, strict=True)
            ]
            found.append([future.result(60)[0][0].ids for future in futures])
    assert found[0] == found[1]


def test_too_large_a_sentence_is_refused_and_others_live_on(
    post: tuple[TorchEngine, Graphs],
) -> None:
    torch_engine, graphs = post
    with Scheduler(gpu_engine(graphs, torch_engine.spec)) as scheduler:
        fine = scheduler.submit([[5, 6, 2]], DecodingOptions())
        large = scheduler.submit([[5] * 90 + [2]], DecodingOptions())
        mixed = scheduler.submit([[5] * 90 + [2], [7, 2]], DecodingOptions())
        later = scheduler.submit([[5, 6, 2]], DecodingOptions())
        for refused in (large, mixed):
            with pytest.raises(RequestError, match="91 tokens with beam size 4"):
                refused.result(60)
        assert fine.result(60)[0][0].ids == later.result(60)[0][0].ids


def test_full_boards_refuse_a_join(post: tuple[TorchEngine, Graphs]) -> None:
    torch_engine, graphs = post
    decoder = gpu_engine(graphs, torch_engine.spec).decoder()
    source, demands = joining([[5, 2]] * 6, beams=2)
    assert not has_room(decoder, demands)
    with pytest.raises(RequestError, match="more sentences at once"):
        decoder.join(source, demands)
    decoder.join(source[:5], demands[:5])
    assert not has_room(decoder, demands[:1])


def test_a_join_that_fails_takes_no_room(
    post: tuple[TorchEngine, Graphs], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch_engine, graphs = post
    decoder = gpu_engine(graphs, torch_engine.spec).decoder()
    encode, calls = TensorRtDevice.encode, []

    def second_fails(*words: Any) -> None:
        calls.append(words)
        if len(calls) == 2:
            raise DragomanError("CUDA refused")
        encode(*words)

    monkeypatch.setattr(TensorRtDevice, "encode", second_fails)
    source, demands = joining([[5, 2]] * 5, beams=2)  # three and two at a time
    with pytest.raises(DragomanError, match="CUDA refused"):
        decoder.join(source, demands)
    decoder.join(source, demands)
    with pytest.raises(RequestError, match="more sentences at once"):
        decoder.join(source[:1], demands[:1])


def test_as_much_memory_is_reserved_as_is_computed_before(
    post: tuple[TorchEngine, Graphs],
) -> None:
    torch_engine, graphs = post
    cudart = FakeCudart()
    gpu_engine(graphs, torch_engine.spec, cudart=cudart)
    assert cudart.reserved == total_bytes(torch_engine.spec, SMALL_SHAPES, item=4)


def test_too_little_memory_is_an_error_that_says_so(post: tuple[TorchEngine, Graphs]) -> None:
    torch_engine, graphs = post
    with pytest.raises(DragomanError, match="MiB of GPU memory .*: out of memory"):
        gpu_engine(graphs, torch_engine.spec, cudart=FakeCudart(memory_limit=2**18))


def test_a_plan_of_another_model_is_refused(post: tuple[TorchEngine, Graphs]) -> None:
    torch_engine, graphs = post
    other = dataclasses.replace(torch_engine.spec, decoder_layers=3)
    with pytest.raises(ConfigError, match=r"disagree on tensors.*cross_key\.2.*compile again"):
        gpu_engine(graphs, other)


def test_shapes_of_the_tests_route_as_they_should() -> None:
    names = [plan.name for plan in SMALL_SHAPES.route(Demand(5, 3, 40))]
    assert names == ["decoder_step.5x16", "decoder_step.5x80"]
    assert SMALL_SHAPES.route(Demand(5, 6, 40)) == (SMALL_SHAPES.step[-1],)
    assert SMALL_SHAPES.route(Demand(81, 1, 1)) == ()

"""Probabilities of words, and a confidence that means what it says."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.calibration import Reliability, fit
from serving.bundle import CONFIDENCE, SPEC, Bundle, add_file
from serving.confidence import FEATURES, Confidence, WordScore, features, word_scores
from serving.errors import ConfigError
from serving.words import Span

BUNDLE = Path(__file__).parents[2] / "model_repository/translator/1"

LOG = math.log
SCORES = st.lists(st.floats(-60, 0), min_size=1, max_size=30)


def test_a_word_has_the_geometric_mean_of_its_pieces() -> None:
    text = "Gute Nacht!"
    spans = [Span(0, 2), Span(2, 4), Span(5, 10), Span(10, 11)]
    found = word_scores(text, spans, [LOG(0.9), LOG(0.4), LOG(0.5), 0.0, LOG(0.1)])
    assert [(one.start, one.end) for one in found] == [(0, 4), (5, 10), (10, 11)]
    assert [one.probability for one in found] == pytest.approx([0.6, 0.5, 1.0])


def test_a_word_without_a_piece_of_its_own_has_no_score() -> None:
    [found] = word_scores("a!", [Span(0, 2)], [LOG(0.5)])
    assert (found.start, found.end) == (0, 1)
    assert word_scores("", [], [LOG(0.5)]) == []
    assert word_scores("a", [Span(0, 1)], [-math.inf]) == [WordScore(0, 1, 0.0)]


def test_features_are_what_their_names_say() -> None:
    found = features([LOG(0.5), LOG(0.25), 0.0])
    np.testing.assert_allclose(found, [1.75 / 3, 0.25, LOG(3)])
    assert len(found) == len(FEATURES)


@given(SCORES, st.floats(-1e3, 1e3), st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3))
def test_a_confidence_is_a_share(scores: list[float], bias: float, weights: list[float]) -> None:
    found = Confidence(bias, tuple(weights), 1).of(scores)
    assert found is not None
    assert 0 <= found <= 1


def test_surer_pieces_make_a_surer_translation() -> None:
    confidence = Confidence(-4.0, (5.0, 1.0, 0.2), 1)
    assert confidence.of([]) is None
    found = [confidence.of([LOG(p)] * 6) for p in (0.1, 0.4, 0.7, 1.0)]
    assert found == sorted(found, key=lambda one: one or 0)
    assert found[-1] == pytest.approx(1 / (1 + math.exp(-(2 + 0.2 * LOG(6)))))


def made_up(seed: int, count: int) -> tuple[list[list[float]], list[float]]:
    random = np.random.default_rng(seed)
    scores = [
        (random.normal(-0.7, 0.5, random.integers(2, 20)).clip(max=0)).tolist()
        for _ in range(count)
    ]
    table = np.array([features(one) for one in scores])
    quality = 1 / (1 + np.exp(-(table @ [4.0, 1.5, -0.5] - 2.0)))
    return scores, quality.tolist()


def test_a_planted_map_is_found() -> None:
    scores, quality = made_up(1, 3000)
    found = fit(scores, quality)
    predicted = [found.of(one) or 0.0 for one in scores]
    np.testing.assert_allclose(predicted, quality, atol=0.02)
    assert found.sentences == 3000


def test_the_mean_confidence_is_the_mean_quality() -> None:
    scores, quality = made_up(2, 500)
    noisy = (np.random.default_rng(3).random(500) < quality).astype(float).tolist()
    found = fit(scores, noisy)
    assert np.mean([found.of(one) or 0 for one in scores]) == pytest.approx(
        np.mean(noisy), abs=1e-6
    )


def test_fitting_takes_what_never_varies() -> None:
    found = fit([[-0.5, -0.5]] * 50, [0.3, 0.5] * 25)
    assert found.of([-0.5, -0.5]) == pytest.approx(0.4, abs=1e-6)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_reliability_written_out(pairs: list[tuple[int, int]]) -> None:
    sure, good = [a / 5 for a, _ in pairs], [b / 5 for _, b in pairs]
    found = Reliability.of(sure, good)
    better = [b > np.median(good) for b in good]
    wins = [
        (a > b) + (a == b) / 2
        for a, up in zip(sure, better, strict=True)
        if up
        for b, down in zip(sure, better, strict=True)
        if not down
    ]
    assert found.auc == pytest.approx(np.mean(wins) if wins else 0.5)
    assert sum(one.count for one in found.bins) == len(pairs)
    whole = sum(one.count * one.quality for one in found.bins)
    assert whole == pytest.approx(sum(good))
    confidence = [one.confidence for one in found.bins]
    assert confidence == pytest.approx(sorted(confidence))  # means differ in their last bits
    assert -1.0001 <= found.correlation <= 1.0001


def test_the_calibration_error_is_the_mean_distance() -> None:
    found = Reliability.of([0.2] * 10 + [0.8] * 10, [0.3] * 10 + [0.6] * 10)
    assert found.error == pytest.approx(0.15)
    assert "| 2 | 0.800 | 0.600 |" in str(found)


def test_a_bundle_has_a_confidence_once_it_was_calibrated(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(BUNDLE, folder)
    written = Confidence(-1.0, (1.0, 2.0, 3.0), 7)
    add_file(folder, CONFIDENCE, written.to_json().encode())
    assert Bundle.open(folder).confidence() == written
    (folder / CONFIDENCE).write_text(written.to_json().replace("7", "8"))
    with pytest.raises(ConfigError, match="export again"):
        Bundle.open(folder)
    values = json.loads((folder / SPEC).read_text())
    del values["sha256"][CONFIDENCE]
    (folder / SPEC).write_text(json.dumps(values))
    assert Bundle.open(folder).confidence() is None


GOOD = json.loads(Confidence(0.5, (1.0, 2.0, 3.0), 9).to_json())


@pytest.mark.parametrize(
    "damage",
    [
        {"weights": {"mean_probability": 1.0}},
        {"weights": None},
        {"weights": {**GOOD["weights"], "more": 1.0}},
        {"bias": "x"},
        {"bias": math.nan},
        {"more": 1},
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, damage: dict[str, object]) -> None:
    path = tmp_path / CONFIDENCE
    path.write_text(json.dumps({**GOOD, **damage}))
    with pytest.raises(ConfigError, match=CONFIDENCE):
        Confidence.load(path)
    path.write_text("no JSON")
    with pytest.raises(ConfigError, match="make it with dragoman calibrate"):
        Confidence.load(path)

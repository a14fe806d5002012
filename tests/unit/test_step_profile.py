"""The profile of a step on the shipped model: every part is found, and they add up."""

from __future__ import annotations

import pytest

from bench.step_profile import HOST, profile_steps
from serving.bundle import Bundle
from serving.options import DecodingOptions
from tests.parity.shipped import BUNDLE


def test_parts_of_a_step() -> None:
    bundle = Bundle.open(BUNDLE)
    ids = bundle.text_processor().encode("The weather is nice today.")
    found = profile_steps(bundle, [ids] * 3, DecodingOptions(), threads=1)
    assert {"projection", "feed-forward", "self-attention", "cross-attention", "cache", HOST} <= {
        *found.milliseconds
    }
    assert found.total == pytest.approx(sum(found.milliseconds.values()))
    assert all(spent >= 0 for spent in found.milliseconds.values())
    assert found.steps > 3

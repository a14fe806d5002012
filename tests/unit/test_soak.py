"""What a soak is judged by: memory over time, failures, differing translations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from bench.soak.memory import Memory, Sample, Sampler, trends
from bench.soak.report import Soak
from serving.load.failures import Failure, Kind
from serving.load.window import Outcome
from tests.unit.test_load_report import measurement, outcomes, report


def samples(*resident: float, name: str = "translator") -> list[Sample]:
    """One a minute."""
    return [
        Sample(60.0 * n, {name: Memory(value, value / 2, value / 3)})
        for n, value in enumerate(resident)
    ]


def soak(found: list[Outcome], memory: list[Sample]) -> Soak:
    measured = measurement(found, rate=24.0, seconds=600.0)
    return Soak(report(measured), capacity=30.0, share=0.8, settle_seconds=120.0, samples=memory)


HOLDER = """
input(print("nothing yet", flush=True))
held = bytearray(64 * 2**20)
held[:: 2**12] = b"x" * len(held[:: 2**12])
input(print("held", flush=True))
"""


def test_memory_of_a_process_is_that_of_the_kernel() -> None:
    """Of another process: this one may give earlier tests' memory back in between."""
    found = []
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdin
        assert holder.stdout
        for _ in range(2):
            assert holder.stdout.readline()
            found.append(Memory.of(holder.pid))
            print(file=holder.stdin, flush=True)
    before, after = found
    for name in ("resident", "proportional", "private"):
        assert getattr(after, name) - getattr(before, name) == pytest.approx(64, abs=4)
    assert after.private <= after.proportional <= after.resident


def test_what_comes_before_memory_has_settled_does_not_count() -> None:
    (trend,) = trends(samples(50, 90, 100, 101, 99, 100), settle_seconds=120)
    assert trend.samples == 4
    assert trend.median == 100
    assert trend.stray == pytest.approx(0.01)
    assert trend.flat


def test_memory_that_grows_is_not_flat() -> None:
    (trend,) = trends(samples(*(100 + n for n in range(11))), settle_seconds=0)
    assert trend.growth_per_hour == pytest.approx(60 / 105)
    assert not trend.flat


def test_a_soak_passes_only_if_all_is_well() -> None:
    well = samples(80, 90, 100, 101, 100)
    assert soak(outcomes(50), well).passed
    failed = soak(outcomes(50, failed=1), well)
    assert [name for name, true in failed.checks.items() if not true] == ["no request failed"]
    other = Outcome(1.0, 20.0, Failure(Kind.DIFFERENT, "'a' became 'b' instead of 'c'"))
    different = soak([*outcomes(50), other], well)
    assert [name for name, true in different.checks.items() if not true] == [
        "every translation equals the one made without a server"
    ]
    assert not soak(outcomes(50), samples(80, 90, 100, 110, 100)).passed
    assert not soak(outcomes(0), well).passed, "nothing was asked"
    assert not soak(outcomes(50), []).passed, "nothing was watched"
    died = [*well, Sample(300.0, {})]
    assert not soak(outcomes(50), died).checks["every process lived all the time"]


def test_a_soak_is_told_in_json_and_markdown() -> None:
    found = soak(outcomes(600), samples(80, 90, 100, 101, 100))
    values = json.loads(found.to_json())
    assert values["passed"] is True
    assert values["trends"][0]["median"] == 100
    assert len(values["samples"]) == 5
    text = found.to_markdown()
    assert "# Soak: passed" in text
    assert "10.0 minutes at 24.0 sentences/s, 80% of the 30.0" in text
    assert "| translator | 100.0 | 1.00% |" in text


def test_samples_are_taken_in_the_background_and_of_what_is_there() -> None:
    names = {"me": os.getpid(), "gone": 2**22 + 1}
    with Sampler(lambda: names, interval=0.05) as sampler:
        time.sleep(0.3)
    assert 3 <= len(sampler.samples) <= 8
    assert all(set(sample.processes) == {"me"} for sample in sampler.samples)

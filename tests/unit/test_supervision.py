"""The supervisor's judgements: what hangs, what is to be done, and when to give up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from serving.errors import DragomanError
from serving.launcher.draining import BLIND_READINGS, QUIET_READINGS, Quiet
from serving.launcher.hang import PATIENT_POLLS, SILENT_POLLS, HangJudge
from serving.launcher.metrics import OPEN_REQUESTS, WAITING_REQUESTS, Metrics
from serving.launcher.recovery import MOST_WAITING, Budget, reason_to_restart
from serving.launcher.served_model import Interface, ServedModel
from serving.launcher.vitals import Vitals, is_alive, model_of, vitals_of


def vitals(ticks: int, states: str = "S") -> Vitals:
    return Vitals(frozenset(states), ticks)


def polls_until_hung(judge: HangJudge, readings: Sequence[tuple[Vitals, int | None, bool]]) -> int:
    """How many polls it takes, 0 where there is no hang."""
    for number, reading in enumerate(readings, 1):
        if judge.judge(*reading):
            return number
    return 0


def test_silence_without_work_is_a_hang_within_two_seconds() -> None:
    assert polls_until_hung(HangJudge(), [(vitals(5), 7, True)] * 50) == SILENT_POLLS + 1


def test_a_stopped_process_hangs_though_nobody_asks_it() -> None:
    assert polls_until_hung(HangJudge(), [(vitals(5, "T"), None, False)] * 50) == SILENT_POLLS


@pytest.mark.parametrize(
    "reading",
    [
        (vitals(5), None, True),
        (vitals(5, "SR"), 7, True),
        (vitals(5, "D"), 7, True),
        (vitals(5, "t"), 7, True),
        (vitals(5), 7, False),
    ],
    ids=["not asked", "wants a CPU", "waits for a disk", "debugged", "server does not answer"],
)
def test_what_may_be_innocent_is_left_alone(reading: tuple[Vitals, int | None, bool]) -> None:
    assert polls_until_hung(HangJudge(), [reading] * 50) == 0


def test_work_and_answers_begin_the_count_anew() -> None:
    judge = HangJudge()
    silent = [(vitals(5), 7, True)] * SILENT_POLLS
    assert polls_until_hung(judge, silent) == 0
    assert polls_until_hung(judge, [(vitals(6), 7, True)]) == 0
    assert polls_until_hung(judge, [(vitals(6), 7, True)] * (SILENT_POLLS - 1)) == 0
    assert polls_until_hung(judge, [(vitals(6), 8, True)] * SILENT_POLLS) == 0
    assert polls_until_hung(judge, [(vitals(6), 8, True)]) == 1


def test_an_endless_loop_is_a_hang_after_long() -> None:
    busy = [(vitals(tick, "R"), 7, True) for tick in range(2 * PATIENT_POLLS)]
    assert polls_until_hung(HangJudge(), busy) == PATIENT_POLLS + 1


def test_a_question_in_a_long_queue_may_wait_while_others_are_answered() -> None:
    judge = HangJudge()
    for number in range(3 * PATIENT_POLLS):
        works = number % SILENT_POLLS == 0
        assert judge.judge(vitals(5), 7, is_fair=True, has_worked=works) is None
    found = [judge.judge(vitals(5), 7, is_fair=True) for _ in range(SILENT_POLLS)]
    assert found[-1] == "neither answers nor works"


def config(name: str, interface: Interface) -> ServedModel:
    return ServedModel.of(
        {
            "name": name,
            "backend": "python",
            "input": [{"name": tensor} for tensor in interface.inputs],
            "output": [{"name": tensor} for tensor in interface.outputs],
        }
    )


MODELS = {
    model.name: model
    for model in (
        config("before", Interface.PREPROCESS),
        config("beam", Interface.TRANSLATOR),
        config("beam_fr", Interface.TRANSLATOR),
        config("after", Interface.POSTPROCESS),
        config("stream", Interface.STREAM),
        ServedModel("custom", True, frozenset({"x"}), frozenset({"y"})),
    )
}


def metrics(waiting: int = 0, **held: int) -> Metrics:
    lines = [f"# HELP {OPEN_REQUESTS} requests", f"# TYPE {OPEN_REQUESTS} gauge"]
    lines += [f'{OPEN_REQUESTS}{{model="{name}"}} {count}' for name, count in held.items()]
    lines += [f'{WAITING_REQUESTS}{{model="{name}",version="1"}} {waiting}' for name in MODELS]
    return Metrics("\n".join(lines))


IDLE = {"beam": 0, "beam_fr": 0, "stream": 0}


@pytest.mark.parametrize("model", ["before", "beam", "after", "stream"])
def test_a_model_that_holds_nothing_is_loaded_anew(model: str) -> None:
    assert reason_to_restart(MODELS[model], MODELS, metrics(**IDLE)) is None
    few = metrics(waiting=MOST_WAITING, **IDLE)
    assert reason_to_restart(MODELS[model], MODELS, few) is None


@pytest.mark.parametrize(
    ("model", "reading", "reason"),
    [
        ("beam", metrics(beam=3, beam_fr=0), "never be answered: 3"),
        ("beam", metrics(beam_fr=0), "it may hold requests"),
        ("beam", Metrics(None), "it may hold requests"),
        ("custom", metrics(**IDLE), "it may hold requests"),
        ("stream", metrics(stream=1), "never be answered: 1"),
        ("stream", metrics(beam=0), "it may hold requests"),
        ("before", metrics(before=2), "never be answered: 2"),
        ("after", metrics(after=1, **IDLE), "never be answered: 1"),
        ("before", Metrics(None), "metrics do not tell"),
        ("before", metrics(waiting=MOST_WAITING + 1), "wait for it: 4"),
        ("after", metrics(waiting=1, beam=2, beam_fr=1), "wait for it: 4"),
        ("after", metrics(beam=0), "metrics do not tell"),
    ],
)
def test_clients_that_would_wait_in_silence_need_a_new_server(
    model: str, reading: Metrics, reason: str
) -> None:
    assert reason in (reason_to_restart(MODELS[model], MODELS, reading) or "")


def test_another_pairs_requests_do_not_hinder_a_translator() -> None:
    assert reason_to_restart(MODELS["beam"], MODELS, metrics(beam=0, beam_fr=9)) is None
    assert reason_to_restart(MODELS["before"], MODELS, metrics(beam=9, beam_fr=9)) is None


def test_metrics_are_read_by_their_whole_name_and_model() -> None:
    text = (
        'm{model="a",version="1"} 2\nm{version="2",model="a"} 3\nm{model="ab"} 4\n'
        'mm{model="a"} 5\nm{base_model="a"} 6\n# m{model="a"} 7\nm 8\n'
    )
    assert Metrics(text).of("a", "m") == 5
    assert Metrics(text).of("b", "m") is None


def test_interfaces_are_known_by_tensors_not_by_names() -> None:
    assert [model.interface for model in MODELS.values()] == [
        Interface.PREPROCESS,
        Interface.TRANSLATOR,
        Interface.TRANSLATOR,
        Interface.POSTPROCESS,
        Interface.STREAM,
        None,
    ]
    steps = {"step": [{"model_name": "a"}, {"model_name": "b"}]}
    ensemble = ServedModel.of(
        {
            "name": "translate",
            "platform": "ensemble",
            "input": [{"name": "text"}],
            "output": [{"name": "translation"}],
            "ensemble_scheduling": steps,
        }
    )
    assert ensemble.translates_text
    assert ensemble.steps == ("a", "b")
    assert ensemble.interface is None
    assert not MODELS["before"].translates_text


def test_the_budget_is_for_a_time() -> None:
    budget = Budget(most=2, window=60)
    for now in (0.0, 30.0, 60.0, 90.0):
        budget.spend(now, "it died")
    with pytest.raises(
        DragomanError, match="it died; giving up: the limit is 2 recoveries within 1 min"
    ):
        budget.spend(100.0, "it died")
    with pytest.raises(DragomanError, match="the limit is 0 recoveries"):
        Budget(most=0).spend(0.0, "it died")


def test_a_server_is_quiet_when_nothing_works_and_nothing_can_be_answered() -> None:
    quiet = Quiet()
    quiet.observe(0, {1: 5}, 0)
    readings = [quiet.observe(1, {1: 5}, 0) for _ in range(QUIET_READINGS + 1)]
    assert readings.index(True) == QUIET_READINGS - 1
    blind = Quiet()
    readings = [blind.observe(0, {1: 5}, None) for _ in range(BLIND_READINGS + 1)]
    assert readings.index(True) == BLIND_READINGS
    for unanswered, models in ((1, {1: 5}), (0, {1: 6})):
        quiet = Quiet()
        seen = [quiet.observe(n, {1: 5} if n % 2 else models, unanswered) for n in range(40)]
        assert any(seen) is False
    busy = Quiet()
    assert not any(busy.observe(10 * n, {1: 5}, 0) for n in range(40))


def test_vitals_tell_a_stopped_a_busy_and_a_dead_process() -> None:
    loop = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    with subprocess.Popen(loop, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        before = vitals_of(process.pid)
        time.sleep(0.3)
        after = vitals_of(process.pid)
        assert before is not None
        assert after is not None
        assert after.cpu_ticks > before.cpu_ticks
        assert after.is_busy
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        stopped = vitals_of(process.pid)
        assert stopped is not None
        assert stopped.is_stopped
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(process.pid), "a zombie is dead"
        assert vitals_of(process.pid) is None
    assert not is_alive(process.pid)


def test_a_process_belongs_to_the_model_whose_file_it_runs() -> None:
    repository = Path("/srv/models")
    stub = ["/cache/triton_python_backend_stub", "/srv/models/beam_de/1/model.py", "shm"]
    assert model_of(stub, repository) == "beam_de"
    assert model_of(["/bin/sh", "/srv/models_of_others/a/1/model.py"], repository) is None
    assert model_of(["/srv/models"], repository) is None
    assert model_of([], repository) is None

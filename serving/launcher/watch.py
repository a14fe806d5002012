"""Watches over one run of a server and its models: does a process die, or hang?"""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping
from pathlib import Path

from serving.launcher.endpoint import FAULTS, Endpoint
from serving.launcher.hang import HangJudge, Limits
from serving.launcher.pinger import Pinger, model_pinger, server_pinger
from serving.launcher.process import ServerProcess
from serving.launcher.recovery import Fault
from serving.launcher.served_model import ServedModel
from serving.launcher.vitals import (
    command_of,
    is_alive,
    model_of,
    others_wait_for_a_cpu,
    vitals_of,
)

STATISTICS_TIMEOUT_SECONDS = 1.0
# Nothing watches the way to the server: a busy machine may hold up question and answer.
SERVER_LIMITS = Limits(silent=25)


class Watch:
    """Knows the processes of a server that has just translated, and asks them in the background.

    Processes that are `leaving` belong to an earlier load of a model, and may end.
    Close it, or the server keeps waiting for the questions' connections when it stops.
    """

    def __init__(
        self,
        process: ServerProcess,
        models: Mapping[str, ServedModel],
        endpoint: Endpoint,
        repository: Path,
        leaving: Collection[int] = (),
    ) -> None:
        self._process = process
        self._endpoint = endpoint
        self.processes = _processes(process, models, repository, leaving)
        """The Python processes of each model."""
        self._server_pinger = server_pinger(endpoint)
        self._pingers = {
            name: model_pinger(endpoint, name, interface)
            for name in self.processes
            if name in models and (interface := models[name].interface) is not None
        }
        self._server_judge = HangJudge(SERVER_LIMITS)
        self._judges = {pid: HangJudge() for pids in self.processes.values() for pid in pids}
        self._answers = 0
        self._model_answers: dict[str, int] = {}
        for pinger in self._all_pingers():
            pinger.start()

    @property
    def pinged(self) -> list[str]:
        """The models that are asked."""
        return list(self._pingers)

    def close(self) -> None:
        """Ask no more."""
        for pinger in self._all_pingers():
            pinger.close()

    def dead(self) -> Fault | None:
        """Return a death; cheap, to be asked often."""
        code = self._process.exit_code()
        if code is not None:
            return Fault(None, f"ended with {how_it_ended(code)}")
        for model, pids in self.processes.items():
            if not pids:
                return Fault(model, "its process is missing")
            for pid in pids:
                if not is_alive(pid):
                    return Fault(model, f"its process {pid} died")
        return None

    def hung(self) -> Fault | None:
        """Return a hang; to be asked every `hang.POLL_SECONDS`."""
        verdict = self._judge_server()
        if verdict is not None:
            return Fault(None, verdict, (self._process.pid,))
        answers = self._server_pinger.answers
        server_answers, self._answers = answers > self._answers, answers
        for model, pids in self.processes.items():
            hung = self._hung_of(model, pids, server_answers)
            if hung:
                numbers = ", ".join(map(str, sorted(hung)))
                return Fault(model, f"its process {numbers} {next(iter(hung.values()))}", (*hung,))
        return None

    def _judge_server(self) -> str | None:
        question = self._server_pinger.question
        in_doubt = self._server_judge.is_in_doubt(question)
        vitals = vitals_of(self._process.pid, with_threads=in_doubt)
        if vitals is None:
            return None
        is_fair = not (in_doubt and others_wait_for_a_cpu())
        return self._server_judge.judge(vitals, question, is_fair)

    def _hung_of(self, model: str, pids: set[int], server_answers: bool) -> dict[int, str]:
        """The reason for each process that hangs."""
        pinger = self._pingers.get(model)
        question = pinger.question if pinger is not None else None
        found = {}
        for pid in pids:
            judge = self._judges[pid]
            in_doubt = judge.is_in_doubt(question)
            vitals = vitals_of(pid, with_threads=in_doubt)
            if vitals is None:
                continue
            is_fair = server_answers and not (in_doubt and self._is_held_up())
            # Of several processes, another may have done the work.
            has_worked = in_doubt and is_fair and len(pids) == 1 and self._has_worked(model)
            verdict = judge.judge(vitals, question, is_fair, has_worked)
            if verdict is not None:
                found[pid] = verdict
        return found

    def _is_held_up(self) -> bool:
        """Whether question or answer may be under way in the server or in this process.

        Where CPUs are scarce, a thread may want one for seconds.
        """
        server = vitals_of(self._process.pid)
        return server is None or server.is_busy or others_wait_for_a_cpu()

    def _has_worked(self, model: str) -> bool:
        """Whether the model has answered anybody since this was last asked."""
        try:
            path = f"/v2/models/{model}/stats"
            answer = self._endpoint.json(path, STATISTICS_TIMEOUT_SECONDS)
            counts = [one["inference_stats"] for one in answer["model_stats"]]
            answers = sum(
                int(one["success"]["count"]) + int(one["fail"]["count"]) for one in counts
            )
        except (*FAULTS, KeyError, ValueError):
            return False
        before, self._model_answers[model] = self._model_answers.get(model), answers
        return before is not None and answers != before

    def _all_pingers(self) -> list[Pinger]:
        return [self._server_pinger, *self._pingers.values()]


def how_it_ended(code: int) -> str:
    """Put an exit code of a child into words."""
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


def _processes(
    process: ServerProcess,
    models: Mapping[str, ServedModel],
    repository: Path,
    leaving: Collection[int],
) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {name: set() for name, one in models.items() if one.is_python}
    for pid in process.children().difference(leaving):
        model = model_of(command_of(pid), repository)
        if model is not None:
            found.setdefault(model, set()).add(pid)
    return found

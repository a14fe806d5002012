"""What to do about a fault: load the model anew, or start the whole server anew."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from serving.errors import DragomanError
from serving.launcher.endpoint import FAULTS, Endpoint
from serving.launcher.metrics import OPEN_REQUESTS, WAITING_REQUESTS, Metrics
from serving.launcher.preflight import ENSEMBLE
from serving.launcher.probe import Canary
from serving.launcher.repository_api import RepositoryApi
from serving.launcher.served_model import Interface, ServedModel

UNLOAD_TIMEOUT_SECONDS = 5.0
CANARY_TIMEOUT_SECONDS = 30.0
WINDOW_SECONDS = 600.0
MOST_WAITING = 3
"""Requests that may be left to a dead process: Triton fails them one by one, one a second."""


@dataclass(frozen=True)
class Fault:
    """What is wrong: with a model, or with the server itself where `model` is None.

    `hung` are processes that still exist, but are to be ended.
    """

    model: str | None
    what: str
    hung: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.model or 'tritonserver'}: {self.what}"


class Budget:
    """How many recoveries are tried before giving up: `most` in `window` seconds."""

    def __init__(self, most: int, window: float = WINDOW_SECONDS) -> None:
        self._most = most
        self._window = window
        self._spent: deque[float] = deque()

    def spend(self, now: float, fault: str) -> None:
        """Note a recovery that begins `now`.

        Raises:
            DragomanError: there were too many; `fault` is what this one would be for.
        """
        while self._spent and self._spent[0] <= now - self._window:
            self._spent.popleft()
        if len(self._spent) >= self._most:
            raise DragomanError(
                f"{fault}; giving up: the limit is {self._most} recoveries within "
                f"{self._window / 60:g} minutes (--max-recoveries)"
            )
        self._spent.append(now)


def reason_to_restart(
    model: ServedModel, models: Mapping[str, ServedModel], metrics: Metrics
) -> str | None:
    """Return why loading a dead model anew is not enough; None where it is.

    A client whose request a model had accepted and put off would wait for ever, and those whose
    requests wait for a dead process would be told one by one, one a second. Only the end of the
    server ends their connections. What cannot be known counts as the worse.
    """
    interface = model.interface
    held = metrics.of(model.name, OPEN_REQUESTS)
    if held:
        return f"requests that will never be answered: {held}"
    if held is None and interface not in (Interface.PREPROCESS, Interface.POSTPROCESS):
        return "it may hold requests that will never be answered"
    waiting = metrics.of(model.name, WAITING_REQUESTS)
    if interface is Interface.POSTPROCESS:
        # These come to the dead process next.
        before = [name for name, one in models.items() if one.interface is Interface.TRANSLATOR]
        coming = [metrics.of(name, OPEN_REQUESTS) for name in before]
        if waiting is None or None in coming:
            waiting = None
        else:
            waiting += sum(count for count in coming if count is not None)
    if waiting is None:
        return "the metrics do not tell how many requests wait for it"
    if waiting > MOST_WAITING:
        return f"requests that wait for it: {waiting}"
    return None


class Reload(threading.Thread):
    """Unloads and loads a model in the background, once it is started, and sees it translate.

    Attributes:
        fault: why that was not enough, and the server must be started anew; None where it was.
    """

    def __init__(
        self,
        model: str,
        models: Mapping[str, ServedModel],
        api: RepositoryApi,
        http: Endpoint,
        metrics: Endpoint,
        load_timeout: float,
    ) -> None:
        super().__init__(daemon=True)
        self.fault: str | None = None
        self._model = models[model]
        self._models = models
        self._api = api
        self._http = http
        self._metrics = metrics
        self._load_timeout = load_timeout

    def run(self) -> None:
        """Do it, and note the fault."""
        try:
            self.fault = self._reload()
        except FAULTS as error:
            self.fault = f"loading it anew failed ({error or type(error).__name__})"

    def _reload(self) -> str | None:
        name = self._model.name
        # First: no more requests come to the dead process, and those there can be counted.
        self._api.unload(name, UNLOAD_TIMEOUT_SECONDS)
        reason = reason_to_restart(self._model, self._models, Metrics.read(self._metrics))
        if reason is not None:
            return reason
        self._api.load(name, self._load_timeout)
        for ensemble in self._ensembles():
            canary = Canary(self._http, ensemble, CANARY_TIMEOUT_SECONDS)
            canary.run()
            if canary.fault is not None:
                return f"{ensemble} does not translate after loading it anew: {canary.fault}"
        return None

    def _ensembles(self) -> list[str]:
        """Those that show whether the model works."""
        users = [
            name
            for name, one in self._models.items()
            if one.translates_text and self._model.name in one.steps
        ]
        return users or [ENSEMBLE]

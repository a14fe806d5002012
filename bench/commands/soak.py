"""`dragoman bench soak`: a server under load for long; nothing fails, changes or grows."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from bench.soak.memory import Sampler
from bench.soak.plot import draw
from bench.soak.report import Soak
from bench.soak.served import ServeProcess
from serving.commands.repository_argument import add_repository_argument
from serving.commands.search_options import add_search_arguments, search_options
from serving.errors import DragomanError
from serving.lines import read_lines
from serving.load.plan import GUESS_SHARE, WARM_UP_CLIENTS, search_rate
from serving.load.report import Report
from serving.load.requests import TextRequest, group_requests
from serving.load.sender import Protocol
from serving.load.session import Session, Target
from serving.local import open_local
from serving.machine import machine
from serving.request_options import Options

EXAMPLES = """\
examples:
  dragoman bench soak --text test.en.gz
      starts dragoman serve on model_repository, finds the highest rate that it holds, asks for
      80 % of it for 20 minutes, and compares every answer with the translation made without a
      server; writes soak.json, soak.md and soak.png into build/soak, and ends with 1 unless
      nothing failed and memory stayed flat

  dragoman bench soak build/random --text test.en.gz --minutes 60 --capacity 25
      the capacity is known
"""

LOAD_SHARE = 0.8
SEARCH_SECONDS = 10.0
WARM_UP_SECONDS = 5.0
TIMEOUT_SECONDS = 60.0
FILL_CLIENTS = 64
"""More than take part in a step at one time. A server keeps the memory that its fullest moment
took; without such a moment before, each fuller one during the soak would look like growth."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_repository_argument(parser)
    parser.add_argument(
        "--text", type=Path, required=True, help="sentences to send, one a line, plain or .gz"
    )
    parser.add_argument("--sentences", type=int, metavar="N", help="take the first N")
    add_search_arguments(parser)
    numbers = (
        ("minutes", 20.0, "of load"),
        ("settle-minutes", 5.0, "of it before memory is judged"),
        ("fill-seconds", 20.0, f"of {FILL_CLIENTS} clients before, so that memory reaches its top"),
        ("sample-seconds", 10.0, "between two samples of memory"),
        ("limit-ms", 500.0, "for the 95th percentile, of the search for the capacity"),
    )
    for name, default, meaning in numbers:
        parser.add_argument(
            f"--{name}", type=float, default=default, help=f"{meaning} (default: %(default)g)"
        )
    parser.add_argument(
        "--capacity",
        type=float,
        metavar="RATE",
        help="sentences a second that the server holds (default: search for it); the load is "
        f"{100 * LOAD_SHARE:.0f} %% of it",
    )
    parser.add_argument("--seed", type=int, default=1, help="of arrivals (default: 1)")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/soak"),
        metavar="DIR",
        help="for soak.json, soak.md and soak.png (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Soak, write, print; 0 only if all checks pass.

    Raises:
        DragomanError: a file cannot be used, or the server does not start or holds no rate.
    """
    if arguments.minutes <= arguments.settle_minutes:
        raise DragomanError("--minutes must be more than --settle-minutes: nothing else is judged")
    options = search_options(arguments)
    arguments.output.mkdir(parents=True, exist_ok=True)
    requests = _requests(arguments, options)
    report = _report(arguments, requests, options)
    with ServeProcess(arguments.repository, arguments.output / "serve.log") as served:
        target = Target(
            addresses={Protocol.GRPC: served.grpc, Protocol.HTTP: served.http},
            metrics=served.metrics,
            options=options,
            timeout=TIMEOUT_SECONDS,
            limit=arguments.limit_ms,
        )
        with (
            tqdm(unit="s", file=sys.stderr, disable=None, leave=False) as bar,
            Session(target, Protocol.GRPC, requests, arguments.seed, bar) as session,
        ):
            capacity = arguments.capacity or _capacity(session, report)
            session.closed(FILL_CLIENTS, arguments.fill_seconds)
            with Sampler(served.processes, arguments.sample_seconds) as sampler:
                measured = session.open(LOAD_SHARE * capacity, 60 * arguments.minutes)
            report.measurements.append(measured)
    settle = 60 * arguments.settle_minutes
    soak = Soak(report, capacity, LOAD_SHARE, settle, sampler.samples)
    _write(soak, arguments.output)
    print(soak.to_markdown())
    return 0 if soak.passed else 1


def _requests(arguments: argparse.Namespace, options: Options) -> list[TextRequest]:
    """Each sentence with the translation that this process makes of it."""
    lines = [line for line in read_lines(arguments.text) if line.strip()][: arguments.sentences]
    translator = open_local(arguments.repository)
    bar = tqdm(total=len(lines), desc="without a server", file=sys.stderr, disable=None)
    with bar:
        found = translator.translate(lines, options, on_done=bar.update)
    translations = [hypotheses[0].text for hypotheses in found]
    return group_requests(lines, translations, 1, name=str(arguments.text))


def _report(
    arguments: argparse.Namespace, requests: Sequence[TextRequest], options: Options
) -> Report:
    words = sum(len(request.texts[0].split()) for request in requests)
    return Report(
        machine=machine(),
        servers={Protocol.GRPC.value: "its own"},
        text=arguments.text.name,
        sentences=len(requests),
        words_per_sentence=words / len(requests),
        texts_per_request=1,
        options=options.given(),
        limit=arguments.limit_ms,
        compared=True,
    )


def _capacity(session: Session, report: Report) -> float:
    guess = GUESS_SHARE * session.closed(WARM_UP_CLIENTS, WARM_UP_SECONDS).sentences_per_second
    found = search_rate(session, SEARCH_SECONDS, report, guess)
    report.highest[session.protocol.value] = found
    if found is None:
        raise DragomanError(
            f"the server holds no rate within {report.limit:g} ms; allow more with --limit-ms"
        )
    return found


def _write(soak: Soak, folder: Path) -> None:
    (folder / "soak.json").write_text(soak.to_json(), encoding="utf-8")
    (folder / "soak.md").write_text(soak.to_markdown(), encoding="utf-8")
    draw(soak, folder / "soak.png")

"""`dragoman load`: real sentences to a running server, and how it stands that."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from serving.commands.load_arguments import (
    add_load_arguments,
    add_output_arguments,
    add_request_arguments,
    add_server_arguments,
)
from serving.commands.search_options import search_options
from serving.errors import DragomanError
from serving.load import perf_analyzer
from serving.load.plan import Plan, run_plan
from serving.load.report import Report
from serving.load.requests import TextRequest, read_requests
from serving.load.sender import Protocol
from serving.load.session import Target
from serving.load.tables import to_markdown
from serving.machine import machine
from serving.request_options import Options
from serving.triton.limits import MAX_TEXTS

EXAMPLES = """\
examples:
  dragoman load --text newstest2014.en-de.en.gz
      closed loops of 1, 2, 4 and 8 clients against the server that `dragoman serve` has started
      on this machine: sentences a second, latencies, failures

  dragoman load --text test.en.gz --rate 10,20,40 --search --limit-ms 300 \\
      --json load.json --plot load.png
      open loops of Poisson arrivals at three rates, then the highest rate at which 95 % of the
      answers come within 300 ms

  dragoman load --text test.en.gz --protocol both --concurrency 16 --texts-per-request 8
      gRPC and HTTP in turn, eight sentences in each request

  dragoman translate --repository model_repository test.en.gz --output expected.txt
  dragoman load --text test.en.gz --expect expected.txt --rate 20 --seconds 1200
      twenty minutes in which every answer must equal the translation made without a server; ends
      with 1 if one does not

  dragoman load --text test.en.gz --write-perf-analyzer input.json
      writes the same requests for NVIDIA's perf_analyzer and sends nothing
"""

DEFAULT_CONCURRENCIES = (1, 2, 4, 8)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_server_arguments(parser.add_argument_group("server"))
    add_request_arguments(parser.add_argument_group("requests"))
    add_load_arguments(parser.add_argument_group("load"))
    add_output_arguments(parser.add_argument_group("output"))


def run(arguments: argparse.Namespace) -> int:
    """Put load on the server and print what came of it; 1 if an answer was not as expected.

    Raises:
        DragomanError: a file cannot be used, or the server does not translate.
    """
    options = search_options(arguments)
    requests = _requests(arguments)
    if arguments.write_perf_analyzer:
        _write(arguments.write_perf_analyzer, perf_analyzer.input_data(requests, options))
        file = shlex.quote(str(arguments.write_perf_analyzer))
        print(perf_analyzer.command(file, arguments.server))
        return 0
    _check_folders(arguments.json, arguments.plot)
    draw = _drawing() if arguments.plot else None
    report = _empty_report(arguments, requests, options)
    try:
        run_plan(_plan(arguments), _target(arguments, options), requests, report)
    finally:
        if report.measurements:  # what was measured before Ctrl-C counts, too
            print(to_markdown(report))
            if arguments.json:
                _write(arguments.json, report.to_json())
            if draw:
                draw(report, arguments.plot)
    return 1 if report.different else 0


def _requests(arguments: argparse.Namespace) -> list[TextRequest]:
    count = arguments.texts_per_request
    if count > MAX_TEXTS:
        raise DragomanError(f"--texts-per-request: a request holds {MAX_TEXTS:,} texts at most")
    return read_requests(arguments.text, arguments.expect, count, arguments.sentences)


def _plan(arguments: argparse.Namespace) -> Plan:
    concurrencies = arguments.concurrency or ()
    if not (concurrencies or arguments.rate or arguments.search):
        concurrencies = DEFAULT_CONCURRENCIES
    return Plan(
        protocols=_protocols(arguments),
        concurrencies=concurrencies,
        rates=arguments.rate or (),
        search=arguments.search,
        seconds=arguments.seconds,
        warm_up_seconds=arguments.warm_up_seconds,
        seed=arguments.seed,
    )


def _target(arguments: argparse.Namespace, options: Options) -> Target:
    return Target(
        addresses={Protocol.GRPC: arguments.server, Protocol.HTTP: arguments.http},
        metrics=arguments.metrics,
        options=options,
        timeout=arguments.timeout,
        limit=arguments.limit_ms,
    )


def _empty_report(
    arguments: argparse.Namespace, requests: Sequence[TextRequest], options: Options
) -> Report:
    texts = [text for request in requests for text in request.texts]
    return Report(
        machine=machine(),
        servers={
            p.value: arguments.server if p is Protocol.GRPC else arguments.http
            for p in _protocols(arguments)
        },
        text=arguments.text.name,
        sentences=len(texts),
        words_per_sentence=sum(len(text.split()) for text in texts) / len(texts),
        texts_per_request=arguments.texts_per_request,
        options=options.given(),
        limit=arguments.limit_ms,
        compared=arguments.expect is not None,
    )


def _protocols(arguments: argparse.Namespace) -> list[Protocol]:
    both = arguments.protocol == "both"
    return [p for p in Protocol if both or p.value == arguments.protocol]


def _drawing() -> Callable[[Report, Path], None]:
    """The function that draws; found before hours of load, not after."""
    try:
        from serving.load.plot import draw
    except ModuleNotFoundError as error:
        raise DragomanError(
            f"--plot needs the package {error.name!r}; "
            "install it with: pip install 'dragoman[pictures]'"
        ) from error
    return draw


def _check_folders(*files: Path | None) -> None:
    for file in files:
        if file and not file.parent.is_dir():
            raise DragomanError(f"cannot write {file}: there is no folder {file.parent}")


def _write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise DragomanError(f"cannot write {path}: {error.strerror}") from error

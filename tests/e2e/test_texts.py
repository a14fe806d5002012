"""Texts as people write them, and every option, at a real server."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from serving.client import Client, Result
from serving.documents.numbers import NUMBERS
from serving.local import LocalTranslator, open_local
from serving.option_help import MEANINGS
from serving.request_options import Options
from tests.e2e.launched import REPOSITORY, ROOT, LaunchedServer

NEWS = ROOT.parent / "shared/data/wmt/newstest2014.en-de.en.gz"
LINES = int(os.environ.get("DRAGOMAN_LINES", "40"))
"""Lines of news to translate three times; 3003 is all."""

PAGE = """\
<h1>Where is the <em>station</em>?</h1>
<!-- a comment -->
<p>Tom has <b>a big dog</b> &amp; <code>git push</code>.<br>
   He lives <a href="/x?y=1&amp;z">in Boston</a>, does he?</p>
"""

TEXT = """\
Hello {name},

- it costs  12.50 at https://example.org/a?b=1.
- Write to anna@example.org!\t`x = 1`

\tThank you.  Tom bought %d books. WHERE IS THE STATION?\r
"""

VARIED: list[dict[str, Any]] = [
    {},
    {"beam_size": 1},
    {"beam_size": 8, "n_best": 3},
    {"length_penalty": 0.0},
    {"min_length": 12},
    {"max_length": 3},
    {"repetition_penalty": 3.0},
    {"no_repeat_ngram_size": 2},
    {"suppress": ["Hund", "Bahnhof", "▁Wo"]},
    {"prefix": "Sag mir,"},
    {"temperature": 1.0, "seed": 7},
    {"temperature": 0.7, "top_k": 5, "top_p": 0.8, "seed": 1, "n_best": 2},
    {"glossary": {"station": "Haltestelle", "dog": "Köter"}},
    {"protect": ["Tom", "/[0-9.]+/"]},
    {"format": "html"},
    {"return_": ["scores", "token_scores", "alignments"]},
    {
        "prefix": "Ja,",
        "suppress": ["Hund"],
        "min_length": 5,
        "no_repeat_ngram_size": 3,
        "n_best": 2,
    },
]


@pytest.fixture(scope="module")
def client(server: LaunchedServer) -> Iterator[Client]:
    with Client(f"127.0.0.1:{server.grpc_port}", timeout=600) as made:
        yield made


@pytest.fixture(scope="module")
def offline() -> LocalTranslator:
    return open_local(REPOSITORY, threads=1)


def test_options_in_flight_together_are_those_of_a_translator_alone(
    client: Client, offline: LocalTranslator
) -> None:
    """Every option beside every other, from many clients at once."""
    texts = [TEXT, PAGE, "Where is the dog?"]
    jobs = [(options, texts[n % 3]) for n, options in enumerate(VARIED)]
    jobs += [(options, texts[(n + 1) % 3]) for n, options in enumerate(VARIED)]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda job: client.translate(job[1], **job[0]), jobs))
    for (options, text), result in zip(jobs, found, strict=True):
        (expected,) = offline.answers([text], Options.of(options))
        translations = [result.translation, *(one.text for one in result.alternatives)]
        assert translations == expected.translations, options
        scores = [result.score, *(one.score for one in result.alternatives)]
        assert scores == pytest.approx(expected.scores, abs=1e-3), options
        told = [
            (one["source"], one["translation"]) for one in expected.details.get("sentences", [])
        ]
        assert [
            (o["source"], o["translation"]) for o in (result.details or {}).get("sentences", [])
        ] == told


def test_nothing_is_lost_of_a_text(client: Client) -> None:
    found = client.translate(TEXT).translation
    kept = ["{name}", "https://example.org/a?b=1", "anna@example.org", "`x = 1`", "%d"]
    assert [found.count(one) for one in kept] == [1] * len(kept)
    assert [line[:1] for line in found.split("\n")] == [line[:1] for line in TEXT.split("\n")]
    assert found.endswith("\r\n")
    assert found.count("\t") == TEXT.count("\t")
    assert "BAHNHOF?" in found


def test_numbers_are_kept_and_written_as_in_german(client: Client) -> None:
    text = (
        "Tom has 1,500 cats and 16 dogs, and pays $2.50 for each of 123,456,789.25 apples at 7:30."
    )
    wanted = sorted(["1.500", "16", "$2,50", "123.456.789,25", "7:30"])
    streamed = "".join(part.text for part in client.stream(text))
    for found in (client.translate(text).translation, streamed):
        assert sorted(match.group() for match in NUMBERS.finditer(found)) == wanted
    begun = client.translate(text, prefix="Tom hat 1.500 Katzen").translation
    assert begun.startswith("Tom hat 1.500 Katzen")
    assert begun.count("1.500") == 1
    kept = client.translate(text, protect=["/[0-9.,]*[0-9]/"]).translation
    assert "1,500" in kept


def test_a_page_keeps_its_tags(client: Client) -> None:
    found = client.translate(PAGE, format="html").translation
    for part in (
        "<!-- a comment -->",
        "<code>git push</code>",
        '<a href="/x?y=1&amp;z">',
        "<br>\n",
    ):
        assert found.count(part) == 1
    assert "</em>" in found.partition("<em>")[2]
    assert found.count("&amp;") == PAGE.count("&amp;")


def test_details_tell_where_sentences_are(client: Client) -> None:
    wanted = ["scores", "token_scores", "alignments", "timings"]
    result = client.translate(TEXT, return_=wanted)  # type: ignore[arg-type]
    assert result.details is not None
    sentences = result.details["sentences"]
    for one in sentences:
        start, end = one["translation"]
        assert result.translation[start:end].strip() == result.translation[start:end]
        assert one["score"] < 0
        assert 0 < one["confidence"] < 1
        assert {len(token) for token in one["tokens"]} == {2}
        for link in one["alignment"]:
            assert one["segment"][link[0] : link[1]].strip()
            assert one["segment_translation"][link[2] : link[3]].strip()
    spans = [one["source"] for one in sentences]
    assert spans == sorted(spans)
    assert set(result.details["timings"]) == {"preprocess", "queue", "search", "postprocess"}


def test_the_options_are_shown_by_the_server(server: LaunchedServer) -> None:
    status, body = server.get("/v2/models/translate/config")
    assert status == 200
    parameters = json.loads(body)["parameters"]
    assert {name.removeprefix("option ") for name in parameters} == set(MEANINGS)
    assert "from 1 to 8; default: 4" in parameters["option beam_size"]["string_value"]


def test_a_stream_is_the_same_text(client: Client) -> None:
    for options in ({}, {"format": "html"}, {"prefix": "Ja,"}):
        text = PAGE if options.get("format") else TEXT
        parts = sorted(client.stream(text, **options), key=lambda part: part.index)  # type: ignore[arg-type]
        assert "".join(part.text for part in parts) == client.translate(text, **options).translation  # type: ignore[arg-type]
        assert len(parts) == parts[0].total


def test_a_stream_over_http_is_one_event_a_sentence(server: LaunchedServer) -> None:
    body = json.dumps({"text": "Good morning. Thank you.\n"}).encode()
    status, answer = server.request("POST", "/v2/models/translate_stream/generate_stream", body)
    events = [json.loads(e.removeprefix("data: ")) for e in answer.decode().split("\n\n") if e]
    assert status == 200
    events.sort(key=lambda event: event["index"])
    whole = "".join(e["before"] + e["translation"] + e["after"] for e in events)
    assert whole == server.translate("Good morning. Thank you.\n")


@pytest.mark.skipif(not NEWS.exists(), reason="the news test set is not here")
def test_equal_sentences_have_equal_translations_however_they_come(client: Client) -> None:
    with gzip.open(NEWS, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file][:LINES]
    text = "\n".join(lines)
    paragraphs = "\n\n".join(" ".join(lines[n : n + 5]) for n in range(0, len(lines), 5))
    alone = client.translate_many(lines, return_=["scores"])
    whole, parted = (client.translate(t, return_=["scores"]) for t in (text, paragraphs))
    assert whole.translation.split("\n") == [one.translation for one in alone]
    assert parted.translation.count("\n") == paragraphs.count("\n")
    known: dict[str, str] = {}
    for source, result in [*zip(lines, alone, strict=True), (text, whole), (paragraphs, parted)]:
        for sentence, translation in sentences_of(source, result):
            assert known.setdefault(sentence, translation) == translation
    again = sum(sentence in known for sentence, _ in sentences_of(paragraphs, parted))
    assert again >= 0.9 * len(lines)  # the splitter joins or parts a few others


def sentences_of(source: str, result: Result) -> list[tuple[str, str]]:
    assert result.details is not None
    return [
        (source[slice(*one["source"])], result.translation[slice(*one["translation"])])
        for one in result.details["sentences"]
    ]


def test_a_long_text_holds_nobody_up(client: Client, server: LaunchedServer) -> None:
    """Short requests are answered while a text of a thousand sentences is translated."""
    short = client.translate("Good morning.").translation
    long = "".join(f"Tom has {n} books.\n" for n in range(1000))
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(client.translate, long)
        answered = 0
        while not pending.done():
            assert client.translate("Good morning.").translation == short
            answered += 1
        assert pending.result().translation.count("\n") == 1000
    assert answered >= 5

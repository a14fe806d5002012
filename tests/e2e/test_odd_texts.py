"""Texts that are unusual yet fine: each gets a translation, not an error."""

from __future__ import annotations

import pytest

from tests.e2e.launched import LaunchedServer


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u00a0\u3000", "\x00", "\u200b\ufeff"])
def test_a_blank_text_comes_back_as_it_is(server: LaunchedServer, blank: str) -> None:
    status, answer = server.generate(text=blank)
    assert (status, answer["translation"], answer["score"]) == (200, blank, 0.0)


def test_blank_texts_keep_their_place_among_others(server: LaunchedServer) -> None:
    _, answer = server.generate(text=["", "Good morning.", "  ", "Thank you."], n_best=2)
    good, thanks = server.translate("Good morning."), server.translate("Thank you.")
    assert answer["translation"][:2] == ["", ""]
    assert answer["translation"][2] == good
    assert answer["translation"][4:6] == ["  ", "  "]
    assert answer["translation"][6] == thanks
    assert answer["score"][:2] == [0.0, 0.0]


@pytest.mark.parametrize(
    "text",
    [
        "I love you \U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "Привет, мир",
        "今天天气很好",
        "مرحبا بالعالم",
        "שלום",
        "e\u0301\u0308\u0323" * 20,
        "\U0001f1e9\U0001f1ea",
        "<s> </s> <unk> <pad>",
        "{}[]\"'\\",
        "a" * 300,
        "1234567890",
    ],
)
def test_any_script_is_answered(server: LaunchedServer, text: str) -> None:
    status, answer = server.generate(text=text)
    assert status == 200
    assert isinstance(answer["translation"], str)


@pytest.mark.parametrize("odd", ["Good\x00 morning.", "Good\x07 morning.", "Good\u200b morning."])
def test_control_characters_do_not_matter(server: LaunchedServer, odd: str) -> None:
    assert server.translate(odd) == server.translate("Good morning.")


@pytest.mark.parametrize(("before", "after"), [("\ufeff", ""), ("\t", "\r\n"), ("- ", "\x0b")])
def test_what_stands_around_a_sentence_stays(
    server: LaunchedServer, before: str, after: str
) -> None:
    translation = server.translate("Good morning.")
    assert server.translate(f"{before}Good morning.{after}") == f"{before}{translation}{after}"

"""What must not be translated comes back as it was, wherever its symbol lands."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.documents.document import Document, Translated
from serving.documents.masks import Masker
from serving.documents.spelling import Spelling
from serving.documents.symbols import SymbolError
from serving.documents.wishes import Wishes
from serving.errors import RequestError
from serving.words import SYMBOL
from tests.unit.made_up_documents import EXAMPLES, SHIPPED, documents


def masked(text: str, **wishes: object) -> list[str]:
    """What is masked in a plain text before its words are looked at."""
    masks = Masker(Wishes(**wishes)).masks(text)  # type: ignore[arg-type]
    return [text[mask.start : mask.end] for mask in masks]


MASKS = r"""
%s %d %i %u %5.2f %-10s %+d %05d %x %% %1$s %2$d %lu %lld %zu %@ %1$@ %(name)s %(n)5.1f %{name}
%<n>d %1 %L2 %PATH% {name} {0} {} {user.name} {0[key]} {n:>5} {x!r} {price:.2f} {{count}} {{{raw}}}
{$user} ${x} ${a.b} #{x} @{y} $t(key.sub) $(cmd) $HOME $name$ :name :smile: <b> </b> <br/> <0> </0>
<1/> <a~href="x>y"> <x:y> &amp; &#39; &#x27; \n \t \" \u00e9 https://a.b/c?d=e#f http://x ftp://x.y/z
mailto:a@b.de www.example.com/x example.com example.co.uk/a/b x.y+z@mail.example.org `a.b` ``a`b``
/usr/bin/env ../c ./a/b C:\temp\a.txt \\host\share\x config.yaml a-b.tar.gz foo.bar() @dragoman
#hash_tag ⟦3⟧ ⟦999⟧
"""


@pytest.mark.parametrize("mask", MASKS.replace("\n", " ").split())
def test_what_programs_and_readers_need_is_masked(mask: str) -> None:
    mask = mask.replace("~", " ")
    for text in (f"See {mask} here.", f"({mask})", f"{mask}, then.", f"It is {mask}."):
        assert masked(text) == [mask]


@pytest.mark.parametrize(
    "mask",
    [
        "{count, number}",
        "{d, date, short}",
        "{n, plural, one {# item} other {# items}}",
        "{g, select, male {He} other {{n, plural, one {x} other {y}}}}",
        "{{ user.name }}",
        "```\ncode. Here.\n```",
        "https://en.wikipedia.org/wiki/A_(b)",
    ],
)
def test_longer_things_are_masked_whole(mask: str) -> None:
    assert masked(f"{mask}\n") == [mask]


@pytest.mark.parametrize(
    "text",
    [
        "It is 100% sure, and 5 % of it.",
        "x < y and z > 3",
        "a <b and no end",
        "He said: go. Time: 12:30, ratio 3/4, 50 km/h, and/or.",
        "It costs $5, or £3; AT&T #1 (see below) {a b, c} [x].",
        "The end.It began. e.g. this, i.e. that, U.S. and a.m.",
        "Wait... what?! -- yes * no _ so ~ it ^ is | here \\ there",
    ],
)
def test_ordinary_text_is_not_masked(text: str) -> None:
    assert masked(text) == []


def test_terms_to_protect_are_whole_words_or_regular_expressions() -> None:
    text = "The Dragoman met dragomans; SKU-12 and SKU-345, C++ and New York."
    assert masked(text, protect=["Dragoman", r"/SKU-\d+/", "C++", "New York", "York"]) == [
        "Dragoman", "SKU-12", "SKU-345", "C++", "New York",
    ]  # fmt: skip


def test_overlapping_masks_are_one() -> None:
    assert masked("x a b c y", protect=["/a b/", "/b c/"]) == ["a b c"]


def test_an_expression_that_stops_other_engines_stops_nobody() -> None:
    assert masked("a" * 20000 + "!", protect=[r"/(a+)+$/", r"/(a|aa)+b/"]) == []


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"format": "md"}, 'format must be "text" or "html"'),
        ({"protect": "x"}, "protect must be a list"),
        ({"protect": [1]}, "protect takes texts, not 1"),
        ({"protect": [""]}, "protect takes terms of 1 to 200 characters"),
        ({"protect": ["x" * 201]}, "1 to 200 characters"),
        ({"protect": ["x"] * 101}, "up to 100 terms, not 101"),
        ({"protect": ["/(/"]}, "no regular expression of RE2 .missing"),
        ({"protect": ["/(?<=a)b/"]}, "no look-around"),
        ({"protect": ["/\ud800x/"]}, "not valid Unicode"),
        ({"protect": ["/((((a{1,99}){1,99}){1,99}){1,99}){1,99}/"]}, "no regular expression"),
        ({"glossary": ["x"]}, "glossary must map"),
        ({"glossary": {"x": 1}}, "glossary takes texts, not 1"),
        ({"glossary": {"": "x"}}, "1 to 200 characters"),
        ({"glossary": {str(i): "x" for i in range(1001)}}, "up to 1000 terms"),
    ],
)
def test_an_impossible_wish_is_explained(wishes: dict[str, object], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        Wishes(**wishes)  # type: ignore[arg-type]


# The glossary


def translated(text: str, *outputs: str, **wishes: object) -> str:
    """The join of a text whose segments are translated so."""
    document = Document.parse(text, Wishes(**wishes), SHIPPED, 1000)  # type: ignore[arg-type]
    document = Document.from_json(document.to_json())
    return document.join([Translated(output) for output in outputs])


def test_the_longest_term_of_a_glossary_wins_and_case_counts() -> None:
    wishes = {"glossary": {"house": "Haus", "house rule": "Hausregel", "US": "USA"}}
    text = "the house has a house rule for us in the US, a household."
    assert masked(text, **wishes) == ["house", "house rule", "US"]
    output = translated(text, "⟦1⟧ ⟦0⟧ ⟦2⟧.", **wishes)
    assert output == "Hausregel Haus USA."


def test_a_term_at_the_beginning_of_a_sentence_may_have_a_capital_letter() -> None:
    wishes = {"glossary": {"table": "tavola", "fast": "veloce"}}
    assert masked("Table or table? Table! A Table.", **wishes) == ["Table", "table", "Table"]
    assert translated("It is a fast table.", "⟦1⟧ ⟦0⟧.", **wishes) == "Tavola veloce."
    assert translated("Table or no.", "no ⟦0⟧.", **wishes) == "no tavola."


def test_a_term_alone_needs_no_model() -> None:
    assert translated("Table\n\nTable.", glossary={"table": "Tisch"}) == "Tisch\n\nTisch."
    assert translated("<p>A&amp;B</p>", format="html", glossary={"A&B": "B&A"}) == "<p>B&amp;A</p>"


def test_what_is_protected_is_not_in_the_glossary() -> None:
    wishes = {"glossary": {"example": "Beispiel"}, "protect": ["an example"]}
    assert masked("example.com is an example", **wishes) == ["example.com", "an example"]
    document = Document.parse("It is an example.", Wishes(**wishes), SHIPPED, 99)  # type: ignore[arg-type]
    assert document.parts[0].masked[0].written == "an example"


# What a vocabulary cannot spell


class Lacking:
    """The shipped vocabulary without some of its characters: it spells them in bytes."""

    def __init__(self, characters: str) -> None:
        self._characters = set(characters)

    def __getattr__(self, name: str) -> Any:
        return getattr(SHIPPED, name)

    def encode(self, text: str) -> list[int]:
        in_bytes = self._characters.intersection(text)
        return SHIPPED.encode(text) + sorted(SHIPPED.spelling_ids)[: len(in_bytes)]


@pytest.mark.parametrize(
    ("word", "unspelled"),
    [
        ("house.", []),
        ("don’t", []),
        ("“Hi”", []),
        ("Größe", []),
        ("Zu\u00adsammen", []),
        ("ﬁne", []),
        ("Wait…", []),
        *((word, []) for word in ("[see", "and&or", "x+5", "5#.", "3.50", "crème,", "Q;A", "~X")),
        ("100%ig", ["100%ig"]),
        ("$name", []),
        ("(see", ["("]),
        ("and/or", ["/"]),
        ("x=5", ["x=5"]),
        ("5%.", ["5%"]),
        ("€3.50", ["€3.50"]),
        ("café,", ["café"]),
        ("😀", ["😀"]),
        ("Great😀!", ["😀"]),
        ("m²", ["m²"]),
        ("日本。", ["日本。"]),
        ("\u2581", ["\u2581"]),
        ("⟦\u200b3⟧", ["⟦\u200b3⟧"]),
    ],
)
def test_only_what_cannot_be_spelled_is_masked(word: str, unspelled: list[str]) -> None:
    spans = Spelling(Lacking("(/=%€é")).unspelled(word)
    assert [word[start:end] for start, end in spans] == unspelled


def test_typographic_signs_have_simpler_ones() -> None:
    document = Document.parse("“I don’t,” he said — no.", Wishes(), SHIPPED, 99)
    assert SHIPPED.spelling_ids.isdisjoint(SHIPPED.encode(document.segments[0]))
    assert not document.parts[0].masked


# Symbols


def test_symbols_are_given_in_order_and_each_part_has_its_own() -> None:
    text = "Dear {a}, %s and %d. Then {b}."
    document = Document.parse(text, Wishes(), SHIPPED, 99)
    assert document.segments == ["Dear ⟦0⟧, ⟦1⟧ and ⟦2⟧.", "Then ⟦0⟧."]


def test_a_users_own_symbols_are_not_confused() -> None:
    text = "I typed ⟦1⟧ and ⟦0⟧."
    assert translated(text, "⟦1⟧ und ⟦0⟧ tippte ich.") == "⟦0⟧ und ⟦1⟧ tippte ich."


def test_a_lost_or_repeated_symbol_is_never_passed_over() -> None:
    for output in ("Nichts.", "⟦0⟧ ⟦0⟧", "⟦1⟧"):
        with pytest.raises(SymbolError, match="⟦0⟧"):
            translated("Dear {name}!", output)


@pytest.mark.parametrize(
    ("source", "output", "wanted"),
    [
        ("Say -%s- now.", "- ⟦0⟧ - jetzt.", "-%s- jetzt."),
        ("It is {x}.", "Es ist ⟦0⟧ .", "Es ist {x}."),
        ("at no:%s please", "bitte no: ⟦0⟧", "bitte no:%s"),
        ("See %s there", "Dort⟦0⟧sehen", "Dort %s sehen"),
        ("See %s and %s there", "Dort ⟦1⟧⟦0⟧sehen", "Dort %s %s sehen"),
        ("See %s there", "Dort: ⟦0⟧, ja", "Dort: %s, ja"),
        ("See %s there", "那里⟦0⟧看", "那里%s看"),
        ("the pre-%s era", "die Ära vor⟦0⟧", "die Ära vor %s"),
        ("no%s%d here", "nicht⟦0⟧hier", "nicht%s%d hier"),
        ("the 16-year-old%s", "der⟦0⟧jährige", "der%sjährige"),
    ],
)
def test_what_was_glued_stays_glued(source: str, output: str, wanted: str) -> None:
    assert translated(source, output) == wanted


def test_more_masks_than_symbols_are_joined_or_the_sentence_is_cut() -> None:
    together = "Now " + "%s, " * 30 + "here."
    document = Document.parse(together, Wishes(), SHIPPED, 99)
    assert document.segments == ["Now ⟦0⟧, here."]
    apart = "Now " + "%s word, " * 45 + "here."
    document = Document.parse(apart, Wishes(), SHIPPED, 999)
    assert [len(part.masked) for part in document.parts] == [20, 20, 5]
    assert all(part.text.endswith(("word,", "here.")) for part in document.parts)
    assert document.cuts == 0


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents(markup=False), st.integers())
def test_whatever_the_order_of_symbols_everything_masked_comes_back(text: str, seed: int) -> None:
    document = Document.parse(text, Wishes(), SHIPPED, 100)
    chance = random.Random(seed)
    for part in document.parts:
        words = SYMBOL.sub(r" \g<0> ", part.text).split()
        chance.shuffle(words)
        output = document.output(part, Translated(" ".join(words)))
        for masked in part.masked:
            assert masked.written in output
        assert len(output) >= sum(len(masked.written) for masked in part.masked)


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("I have no cars: {name}.", ["I have no cars"]),
        ("{name}: I have cars.", ["I have cars."]),
        ("I wait ({name}).", ["I wait"]),
        ("[%s] Hello there", ["Hello there"]),
        ("{a}: {b}: text here – {c}.", ["text here"]),
        ("I see {name}.", ["I see ⟦0⟧."]),
        ("{name} sleeps.", ["⟦0⟧ sleeps."]),
        ("A – {x} – B is good", ["A – ⟦0⟧ – B is good"]),
    ],
)
def test_masks_that_are_set_off_at_an_edge_need_no_model(text: str, segments: list[str]) -> None:
    document = Document.parse(text, Wishes(), SHIPPED, 1000)
    assert list(document.segments) == segments
    assert document.join([Translated(segment) for segment in document.segments]) == text

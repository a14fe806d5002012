"""Tags inside sentences move with their words, each once, nested as they were."""

from __future__ import annotations

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from serving.alignment import Link
from serving.documents.document import Translated
from serving.documents.segment import Segment
from tests.unit.made_up_documents import EXAMPLES, documents, parsed


def links(source: str, target: str, *pairs: tuple[str, str]) -> list[Link]:
    """Links between words that stand once in both."""
    return [
        Link(*re.search(re.escape(a), source).span(), *re.search(re.escape(b), target).span())  # type: ignore[union-attr]
        for a, b in pairs
    ]


def moved(text: str, target: str, *pairs: tuple[str, str]) -> str:
    """The join of one sentence with links by hand."""
    document = parsed(text)
    (source,) = document.segments
    return document.join([Translated(target, links(source, target, *pairs))])


def test_tags_move_with_their_words() -> None:
    text = "<p>I have a <b>red</b> <a href='x'>house</a>.</p>"
    pairs = [("I", "Ich"), ("red", "rotes"), ("house", "Haus"), ("have", "habe")]
    assert moved(text, "Ein Haus, rotes, habe Ich.", *pairs) == (
        "<p>Ein <a href='x'>Haus</a>, <b>rotes</b>, habe Ich.</p>"
    )


def test_a_tag_around_many_words_goes_around_all_of_theirs() -> None:
    text = "He <b>gave <i>it</i> up</b> now."
    pairs = [("gave", "gab"), ("up", "auf"), ("it", "es"), ("now", "jetzt"), ("He", "Er")]
    assert moved(text, "Er gab es jetzt auf.", *pairs) == "Er <b>gab <i>es</i> jetzt auf</b>."


def test_tags_around_a_whole_sentence_stay_around_it() -> None:
    text = "<p><b><i>One two.</i></b> <a>Three.</a><img></p>"
    document = parsed(text)
    assert not document.needs_links
    assert document.join([Translated("x"), Translated("y")]) == (
        "<p><b><i>x</i></b> <a>y</a><img></p>"
    )


def test_a_pair_over_two_sentences_stays_a_pair() -> None:
    document = parsed("<p>One <b>two. Three</b> four.</p>")
    one, two = document.segments
    outputs = [
        Translated("zwei eins.", links(one, "zwei eins.", ("One", "eins"), ("two", "zwei"))),
        Translated("vier drei.", links(two, "vier drei.", ("Three", "drei"), ("four", "vier"))),
    ]
    assert document.join(outputs) == "<p><b>zwei eins. vier drei</b>.</p>"


def test_a_symbol_inside_a_tag_needs_no_link() -> None:
    document = parsed("Dear <b>{name}</b>, hello.")
    assert document.join([Translated("Hallo, ⟦0⟧.")]) == "Hallo, <b>{name}</b>."


def test_single_tags_stay_beside_their_word() -> None:
    pairs = [("One", "eins"), ("two", "zwei")]
    assert moved("One<img> two", "zwei eins", *pairs) == "zwei eins<img>"
    assert moved("One <img>two", "zwei eins", *pairs) == "<img>zwei eins"


def test_wrongly_nested_tags_keep_their_order() -> None:
    pairs = [("One", "eins"), ("two", "zwei"), ("four", "vier")]
    output = moved("One <b>two <i>three</b> four</i> five", "vier fünf zwei drei eins", *pairs)
    assert re.findall("<.*?>", output) == ["<b>", "<i>", "</b>", "</i>"]
    assert re.sub("<.*?>", "", output) == "vier fünf zwei drei eins"


def test_wrongly_nested_tags_stay_in_their_order_where_words_change_theirs() -> None:
    pairs = [("one", "eins"), ("two", "zwei"), ("and", "und"), ("Say", "Sag")]
    output = moved("Say <b>one</i> and <i>two</b> now", "Sag zwei und eins jetzt", *pairs)
    assert re.findall("<.*?>", output) == ["<b>", "</i>", "<i>", "</b>"]


def test_no_tag_comes_to_stand_inside_of_a_symbol() -> None:
    document = parsed("One <b>two</b> %s")
    assert document.join([Translated("zwei ⟦0⟧ eins", [Link(4, 7, 6, 7)])]) in (
        "zwei %s<b></b> eins",
        "zwei <b>%s</b> eins",
    )


def test_a_tag_inside_of_what_is_masked_is_no_part_of_it() -> None:
    text = "See http://a.b/<b>c</b> and big <i>red</i> house."
    document = parsed(text, glossary={"big red house": "x"})
    assert document.segments == ["See ⟦0⟧⟦1⟧ and big red house."]
    assert document.join([Translated("⟦1⟧, ⟦0⟧ big red house.")]).count("<b>c</b>") == 1


def test_a_tag_inside_of_a_word_stays_there_where_the_word_stays() -> None:
    assert moved("H<sub>2</sub>O is here", "Hier ist H2O") == "Hier ist H<sub>2</sub>O"
    assert moved("<b>Ann</b> met Bob", "Bob traf Ann") == "Bob traf <b>Ann</b>"


def test_without_links_tags_go_by_proportion() -> None:
    assert moved("One two <b>three four</b>", "eins zwei drei vier") == "eins zwei <b>drei vier</b>"


VOID = re.compile(r"<(?:img|br|wbr)[^>]*>|<!--.*?-->")
TAG = re.compile(r"<(/?)(\w+)[^>]*>")


def balanced(text: str) -> bool:
    """Whether every tag is closed by its own kind, in order."""
    opened: list[str] = []
    for closing, name in TAG.findall(VOID.sub("", text)):
        if not closing:
            opened.append(name)
        elif not opened or opened.pop() != name:
            return False
    return not opened


def _restored(part: Segment, output: Translated) -> str:
    text = output.text
    for masked in part.masked:
        text = text.replace(masked.symbol, masked.written)
    return text


_words = st.lists(
    st.sampled_from(["one", "two,", "%s", "Three", "café", "end."]), min_size=1, max_size=4
)
_leaf = _words.map(" ".join)


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(
        st.one_of(
            inner,
            st.tuples(st.sampled_from("abiu"), inner).map(lambda t: f"<{t[0]}>{t[1]}</{t[0]}>"),
            st.sampled_from(["<img>", "<!-- c -->", "<i></i>"]),
        ),
        min_size=1,
        max_size=4,
    ).map(" ".join)


_trees = st.recursive(_leaf, _nested, max_leaves=8)
_place = st.integers(-3, 60)
_links = st.lists(st.builds(Link, _place, _place, _place, _place), max_size=12)


@settings(max_examples=EXAMPLES, deadline=None)
@given(_trees, st.lists(_links, max_size=9), st.integers(), st.booleans())
def test_tags_are_balanced_and_there_once_whatever_the_links(
    text: str, nonsense: list[list[Link]], seed: int, shuffled: bool
) -> None:
    document = parsed(f"<p>{text}</p>")
    chance = random.Random(seed)
    outputs = []
    for i, segment in enumerate(document.segments):
        words = segment.split()
        if shuffled:
            chance.shuffle(words)
        outputs.append(
            Translated("~ " + " ".join(words), nonsense[i] if i < len(nonsense) else None)
        )
    joined = document.join(outputs)
    assert balanced(joined), joined
    texts = [_restored(part, output) for part, output in zip(document.parts, outputs, strict=True)]
    between = [re.sub("<[^>]*>", "", text) for text in document.between]
    pairs = zip(between, [*texts, ""], strict=True)
    assert re.sub("<[^>]*>", "", joined) == "".join(a + b for a, b in pairs)
    assert sorted(re.findall(r"<[^>]*>", joined)) == sorted(
        re.findall(r"<[^>]*>", f"<p>{text}</p>")
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents(markup=True), st.lists(_links, max_size=9))
def test_no_tag_of_broken_markup_is_lost_or_repeated(text: str, nonsense: list[list[Link]]) -> None:
    document = parsed(text)
    outputs = [
        Translated("q " + segment, nonsense[i] if i < len(nonsense) else None)
        for i, segment in enumerate(document.segments)
    ]
    for part, output in zip(document.parts, outputs, strict=True):
        joined = document.output(part, output)
        rest = joined
        for mark in sorted(part.marks, key=lambda mark: -len(mark.written)):
            assert mark.written in rest
            rest = rest.replace(mark.written, "", 1)


def test_markup_nested_without_end_is_read() -> None:
    text = "one " + "<b>" * 5000 + "two" + "</b>" * 5000 + " three"
    document = parsed(text)
    assert document.segments == ["one two three"]
    pairs = links("one two three", "drei zwei eins", ("two", "zwei"))
    assert document.join([Translated("drei zwei eins", pairs)]) == text.replace(
        "one", "drei"
    ).replace("two", "zwei").replace("three", "eins")

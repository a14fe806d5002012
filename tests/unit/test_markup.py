"""Markup is kept byte for byte."""

from __future__ import annotations

import html.parser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.documents.document import Translated
from serving.documents.lexer import attributes, tokens
from tests.unit.made_up_documents import EXAMPLES, SHIPPED, documents, parsed

# The lexer


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents(markup=True))
def test_tokens_are_the_whole_text(text: str) -> None:
    assert "".join(text[token.start : token.end] for token in tokens(text)) == text


class Reference(html.parser.HTMLParser):
    """What the standard library sees of well-formed markup."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.seen: list[object] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        self.seen.append(tag)


_names = st.sampled_from(["p", "b", "a", "DIV", "x-y", "h1"])
_values = st.text(st.sampled_from("ab >/='<\n"), max_size=5)
_attributes = st.dictionaries(st.sampled_from(["href", "data-x", "CLASS", "x:y"]), _values)


@given(st.lists(st.tuples(_names, _attributes, st.sampled_from(["one", " a & b ", ""]))))
def test_the_lexer_sees_what_the_standard_library_sees(
    parts: list[tuple[str, dict[str, str], str]],
) -> None:
    text = "".join(
        f"<{name}" + "".join(f' {key}="{value}"' for key, value in given.items()) + f">{content}"
        f"</{name} ><!-- <b> --><!doctype x>"
        for name, given, content in parts
    )
    reference = Reference()
    reference.feed(text)
    seen = [
        (token.name, attributes(text, token)) if token.kind == "open" else token.name
        for token in tokens(text)
        if token.kind in ("open", "close")
    ]
    assert seen == reference.seen


# Blocks


def test_blocks_are_borders_and_everything_else_is_kept() -> None:
    text = (
        "<!DOCTYPE html>\n<html><head><title>{0}</title><style>p{{}}</style></head>\n<body>"
        "<h1>{1}</h1><!-- no --><p class='x'>{2} {3}<br>{4}</p><ul><li>{5}<li>{6}</ul>"
        "<script>if (a<b) {{}}</script><pre>not <b>me</b></pre><table><tr><td>{7}<td>{8}</table>"
        "<![CDATA[ raw ]]><img alt='alt' title='title'><textarea>no</textarea>"
    )
    words = ["A &amp; ¦ B", "Big title", "One.", "Two", "three", "four", "five", "six", "seven"]
    document = parsed(text.format(*words))
    assert document.segments == ["A & ⟦0⟧ B", *words[1:]]
    assert not document.needs_links
    outputs = ["x & ⟦0⟧ y", *map(str, range(1, 9))]
    joined = document.join([Translated(output) for output in outputs])
    assert joined == text.format("x &amp; ¦ y", *outputs[1:])


BROKEN = r"""
Say <b>yes|Say </i>yes|<b>a <i>b</b> c</i>|x <y|a < b|<a href='>|<!-- a|a &notit; &amp b &#x; &;|
<p><b>one</p><p>two</b></p>|<B>x</b>|<a/>y<b />|<html><body>~<p>a</p></body>|a<!---->b|
&#99999999; x|<![CDATA[ <b> ]]> x|<?php echo '>' ?>|<code>x|x</code>|<pre>a|<script>a|<svg>a
"""


@pytest.mark.parametrize("text", BROKEN.replace("\n", "").replace("~", "\r\n").split("|"))
def test_broken_markup_is_kept_as_it_is(text: str) -> None:
    document = parsed(text)
    assert (
        document.join([Translated(SHIPPED.decode(SHIPPED.encode(s))) for s in document.segments])
        == text
    )


def test_what_its_author_keeps_from_translation_is_one_symbol() -> None:
    for held in [
        "<code>a.b <i>x</i></code>", "<kbd>Q</kbd>", '<span translate="no">one <b>two</b></span>',
        "<b class='x notranslate'>one</b>", "<svg><g/></svg>", "<math>1</math>", "<var>n</var>",
        "<i translate=no>a<i>b</i></i>",
    ]:  # fmt: skip
        document = parsed(f"<p>Press {held} now.</p>")
        assert document.segments == ["Press ⟦0⟧ now."]
        assert document.join([Translated("Jetzt ⟦0⟧.")]) == f"<p>Jetzt {held}.</p>"
    assert parsed("<div translate='no'>one <p>two</p></div><p>three</p>").segments == ["three"]


def test_xml_is_read_too() -> None:
    text = '<?xml version="1.0"?><r><s id="1">Hello <g id="2">big</g> <x id="3"/>world.</s></r>'
    document = parsed(text)
    assert document.segments == ["Hello big world."]
    assert [mark.written for mark in document.parts[0].marks] == [
        '<g id="2">',
        "</g>",
        '<x id="3"/>',
    ]


# Entities


def test_entities_are_right_in_what_comes_out() -> None:
    document = parsed("<p>&#353;kolas &lt;h&eacute;re&gt; &quot;are&quot; 5&nbsp;km away</p>")
    assert document.segments == ['⟦0⟧ <hére> "are" 5 km away']
    joined = document.join([Translated('5 km & <x> ⟦0⟧ <hére> "are"')])
    assert joined == '<p>5&nbsp;km &amp; &lt;x&gt; &#353;kolas &lt;hére&gt; "are"</p>'

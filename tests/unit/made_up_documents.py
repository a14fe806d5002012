"""Documents made up of all that people write, and much that they do not."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import strategies as st

from serving.documents.document import Document, Translated
from serving.documents.numbers import Numbers
from serving.documents.wishes import Wishes
from serving.text import TextCodec, TextProcessor

EXAMPLES = int(os.environ.get("DRAGOMAN_DOCUMENTS", "200"))
"""Random documents of a property; 10000 before a release."""

SHIPPED = TextProcessor.load(
    Path(__file__).parents[2] / "model_repository/translator/1/vocabulary.model"
)

_WORDS = [
    "Hello",
    "the",
    "house.",
    "It",
    "is",
    "5",
    "km",
    "away,",
    "isn't",
    "it?",
    "No!",
    "Queen",
    "café",
    "naïve",
    "don’t",
    "“Yes,”",
    "she",
    "said.",
    "e.g.",
    "U.S.",
    "Dr.",
    "Smith",
    "3.14",
    "5%",
    "€20",
    "(see",
    "below)",
    "and/or",
    "x=5",
    "Größe;",
    "m²",
    "½",
    "ﬁne",
    "日本語。",
    "مرحبا،",
    "नमस्ते।",
    "Wait…",
    "–",
    "—",
    "a:b",
    "1.",
    "2)",
    "a)",
    "-",
    "*",
    "•",
    ">",
    "#",
    "##",
    "well-known",
    "snake_case",
    "camelCase",
]
_MASKED = [
    "%s",
    "%1$s",
    "%(name)s",
    "%d",
    "%5.2f",
    "%%",
    "{name}",
    "{0}",
    "{{count}}",
    "${x}",
    "$(x)",
    ":name",
    "<0>",
    "</0>",
    "https://a.b/c?d=e.",
    "www.example.com,",
    "x.y@example.com",
    "`code.it()`",
    "/usr/bin/x",
    "C:\\a\\b.txt",
    "@me",
    "#tag",
    "⟦0⟧",
    "⟦3⟧",
    "⟦25⟧",
    "⟦",
    "⟦\u200b3⟧",
    "⟦３⟧",
    "{n,plural,one{#}other{#s}}",
    "\\n",
    "&amp;",
    "<b>",
    "</b>",
    "😀",
    "👨\u200d👩\u200d👧",
    "🇩🇪",
    "é",
    "￼",
    "▁",
    "\ufeff",
]
_SPACES = [
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "\u00a0",
    "\u2028",
    "\x85",
    "\x00",
]
_SPACES += ["\u3000", "\u200b", "\u00ad", "", "\x1f"]
_TAGS = [
    "<p>",
    "</p>",
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<a_href='x>y'>",
    "</a>",
    "<span>",
    "</span>",
    "<br>",
    "<br/>",
    "<img_src=x>",
    "<div>",
    "</div>",
    "<li>",
    "<code>x.y</code>",
    "<code>",
    "</code>",
    "<!--_c_-->",
    "<!--",
    "-->",
    "<![CDATA[x]]>",
    "<?xml_v?>",
    "<!x>",
    "<script>a<b</script>",
    "<pre>_x",
    "</pre>",
    "<style>",
    "<",
    ">",
    "<x",
    "<b",
    "title='",
    "&amp;",
    "&lt;",
    "&nbsp;",
    "&#233;",
    "&copy",
    "&bogus;",
    "&",
    "<span_translate=no>_N_",
    "<svg><g/></svg>",
    "<input/>",
    "<td>",
    "</B>",
    "<x:y_z='1'/>",
]

_any_text = st.text(st.characters(codec="utf-8"), max_size=8)


def documents(markup: bool) -> st.SearchStrategy[str]:
    """Texts, with tags or without."""
    tags = [tag.replace("_", " ") for tag in _TAGS]
    atoms = st.one_of(
        st.sampled_from(_WORDS),
        st.sampled_from(_SPACES),
        st.sampled_from([*_WORDS, *tags, *tags] if markup else [*_WORDS, *_MASKED]),
        st.sampled_from(_MASKED),
        _any_text,
    )
    return st.lists(atoms, max_size=40).map("".join)


def copied(
    text: str,
    wishes: Wishes,
    codec: TextCodec = SHIPPED,
    limit: int = 1000,
    numbers: Numbers | None = None,
) -> tuple[Document, str]:
    """The document of a text, sent as JSON, and its join when each segment was only copied."""
    document = Document.from_json(Document.parse(text, wishes, codec, limit, numbers).to_json())
    outputs = [Translated(codec.decode(codec.encode(segment))) for segment in document.segments]
    return document, document.join(outputs)


def parsed(text: str, **wishes: object) -> Document:
    """The document of markup, sent as JSON."""
    document = Document.parse(text, Wishes(format="html", **wishes), SHIPPED, 1000)  # type: ignore[arg-type]
    return Document.from_json(document.to_json())

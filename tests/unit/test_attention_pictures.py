"""Attention pictures: what is recorded, the page, the PNG files and the command."""

from __future__ import annotations

import dataclasses
import html.parser
import json
import math
import shutil
import struct
import sys
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch

from model.attention import fused_attention, use_fused_attention
from model.checkpoint import save_model
from model.config import ModelConfig
from model.data.corpus import Corpus
from model.data.vocabulary import VocabularyConfig, train_vocabulary
from model.layers import EncoderLayer
from model.pictures.figure import save_figure
from model.pictures.labels import Labels
from model.pictures.maps import AttentionMaps, attention_maps
from model.pictures.page import HIDDEN, STEPS, render
from model.pictures.recording import Kind, recording
from model.transformer import Transformer
from serving import cli
from serving.text import VOCABULARY, TextProcessor

SHIPPED = Path(__file__).parents[2] / "model_repository/translator/1" / VOCABULARY
SOURCE, WRITTEN = [5, 6, 7, 8, 2], [9, 10, 11, 2]
VARIANTS: list[dict[str, object]] = [
    {"norm": "post"},
    {"norm": "pre", "positions": "none"},
    {"encoder_attention": "window", "attention_span": 1},
    {"encoder_attention": "strided", "attention_span": 2, "positions": "learned"},
    {"d_k": 3},
]
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!-- <script> \"'&amp; {{data}} {{script}} \\u003c",
    "$x^{$ `${alert(1)}` \U0001f984 \u05e9\u05dc\u05d5\u05dd \u202e\u2028",
]


def build(text: TextProcessor, **changes: object) -> Transformer:
    torch.manual_seed(5)
    sizes = {"vocab_size": text.vocab_size, "d_model": 16, "d_ff": 24, "heads": 2}
    layers = {"encoder_layers": 2, "decoder_layers": 3}
    model = Transformer(ModelConfig.from_dict({**sizes, **layers, **changes})).eval()
    for parameter in model.parameters():  # away from zero biases and unit norms
        torch.nn.init.normal_(parameter, std=0.3)
    return model


@pytest.fixture(scope="module")
def text() -> TextProcessor:
    return TextProcessor.load(SHIPPED)


@pytest.fixture(params=VARIANTS, ids=lambda variant: "-".join(map(str, variant.values())))
def transformer(request: pytest.FixtureRequest, text: TextProcessor) -> Transformer:
    return build(text, **request.param)


def draw(transformer: Transformer, text: TextProcessor) -> list[AttentionMaps]:
    return attention_maps(transformer, SOURCE, WRITTEN, Labels(text, transformer.config))


def test_weights_sum_to_one_and_hidden_ones_are_zero(
    transformer: Transformer, text: TextProcessor
) -> None:
    encoder, decoder, cross = draw(transformer, text)
    assert encoder.weights.shape == (2, 2, 5, 5)
    assert decoder.weights.shape == (3, 2, 4, 4)
    assert cross.weights.shape == (3, 2, 4, 5)
    for maps in (encoder, decoder, cross):
        np.testing.assert_allclose(maps.weights.sum(-1), 1, atol=1e-6)
        assert (maps.weights[..., ~maps.visible] == 0).all()
        assert (maps.weights[..., maps.visible] > 0).all()
    assert (decoder.visible == np.tri(4, dtype=bool)).all()
    assert cross.visible.all()
    assert encoder.visible.all() == (transformer.config.encoder_attention == "full")


def test_recording_changes_no_output_and_leaves_no_trace(transformer: Transformer) -> None:
    inputs = torch.tensor([SOURCE]), torch.tensor([len(SOURCE)]), torch.tensor([[1, 9, 10]])
    before = transformer(*inputs)
    with recording(transformer):
        assert torch.equal(transformer(*inputs), before)
    assert torch.equal(transformer(*inputs), before)
    use_fused_attention(transformer)
    with pytest.raises(ZeroDivisionError), recording(transformer):
        raise ZeroDivisionError
    attentions = [m.attention for m in transformer.modules() if hasattr(m, "attention")]
    assert attentions == [fused_attention] * 8


def test_weights_equal_those_by_hand(text: TextProcessor) -> None:
    """The first layer's, number by number, from the embeddings of the source."""
    model = build(text)
    first = cast(EncoderLayer, model.encoder[0]).self_attention
    x = model.embed(torch.tensor([SOURCE]), torch.arange(len(SOURCE)))[0]
    query, key = (linear(x).detach().numpy() for linear in (first.query, first.key))
    found = draw(model, text)[0].weights[0]
    for head, i in np.ndindex(2, len(SOURCE)):
        width = slice(8 * head, 8 * head + 8)
        terms = [math.exp(query[i, width] @ k / math.sqrt(8)) for k in key[:, width]]
        np.testing.assert_allclose(found[head, i], np.array(terms) / sum(terms), rtol=1e-4)


def test_recorders_tell_padding_apart(text: TextProcessor) -> None:
    model = build(text)
    with recording(model) as recorders, torch.inference_mode():
        model(torch.tensor([[5, 6, 2, 0]]), torch.tensor([3]), torch.tensor([[1, 9]]))
    for kind in (Kind.ENCODER, Kind.CROSS):
        for recorder in recorders[kind]:
            assert (recorder.weights[..., 3] == 0).all()
            assert not recorder.visible[..., 3].any()


def test_labels(text: TextProcessor) -> None:
    labels = Labels(text, ModelConfig(vocab_size=text.vocab_size))
    ids = text.encode("Good morning, M\u00fcller \U0001f984.")
    assert labels.of([1, *ids, 0, 3]) == (
        *("<bos>", "G", "\u2026ood", "morning", ",", "M\u00fc", "\u2026ll", "\u2026er", "\u2423"),
        *("<0xF0>", "<0x9F>", "<0xA6>", "<0x84>", ".", "<eos>", "<pad>", "<unk>"),
    )


class Page(html.parser.HTMLParser):
    """What a browser would see: elements, and the text in each."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.opened: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, str] = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.opened.append("data" if ("id", "data") in attributes else tag)
        self.attributes += attributes

    def handle_data(self, data: str) -> None:
        if self.opened:
            last = self.opened[-1]
            self.texts[last] = self.texts.get(last, "") + data

    @property
    def kinds(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self.texts["data"])
        return found


def test_the_page_holds_the_recorded_numbers(transformer: Transformer, text: TextProcessor) -> None:
    maps = draw(transformer, text)
    kinds = Page(render(maps, "m", "s", "t")).kinds
    assert [each["kind"] for each in kinds] == ["encoder", "decoder", "cross"]
    for each, shown in zip(maps, kinds, strict=True):
        assert shown["rows"] == list(each.rows)
        assert shown["columns"] == list(each.columns)
        values = np.array(shown["layers"]).reshape(each.weights.shape)
        assert ((values == HIDDEN) == ~each.visible).all()
        np.testing.assert_allclose(
            np.where(each.visible, values, 0) / STEPS, each.weights, atol=0.5 / STEPS + 1e-6
        )


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_are_inert(text: TextProcessor, hostile: str) -> None:
    model = build(text)
    plain = Page(render(draw(model, text), "m", "s", "t"))
    maps = [dataclasses.replace(m, rows=(hostile,) * len(m.rows)) for m in draw(model, text)]
    page = Page(render(maps, hostile, hostile, hostile))
    assert page.opened == plain.opened
    assert page.attributes == plain.attributes
    assert page.texts["dd"].count(hostile) == 3
    assert page.texts["title"].startswith("Attention: " + hostile)
    assert page.texts["script"] == plain.texts["script"]
    assert page.kinds[0]["rows"] == [hostile] * 5


def test_the_page_asks_for_nothing_else(text: TextProcessor) -> None:
    page = Page(render(draw(build(text), text), "m", "s", "t"))
    assert not {"src", "href", "action"} & {name for name, _ in page.attributes}
    assert any("default-src 'none'" in (value or "") for _, value in page.attributes)


@pytest.mark.parametrize("label", ["M\u00fcller", "$x^{$", "\U0001f984", "a" * 200])
def test_png_files_have_the_size_of_their_cells(
    text: TextProcessor, tmp_path: Path, label: str
) -> None:
    path = tmp_path / "cross.png"
    save_figure(dataclasses.replace(draw(build(text), text)[2], rows=(label,) * 4), path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    assert 500 <= width <= 700
    assert 400 <= height <= 700


@pytest.fixture(scope="module")
def checkpoint(text: TextProcessor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    model = build(text)
    save_model(folder, dict(model.state_dict()), model.config)
    shutil.copy(SHIPPED, folder / VOCABULARY)
    return folder


def test_the_command_shows_its_own_translation(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "a.html"
    source = "Good <b>M\u00fcller</b> \udc80"  # a stray byte of the shell
    words = ["attention", str(checkpoint), source, "--beam-size", "1"]
    assert cli.main([*words, "--output", str(output)]) == 0
    page = Page(output.read_text(encoding="utf-8"))
    assert "Good <b>M\u00fcller</b>" in page.texts["dd"]
    assert capsys.readouterr().out.rstrip("\n") in page.texts["dd"]
    encoder, decoder, cross = page.kinds
    assert encoder["rows"] == cross["columns"]
    assert decoder["rows"] == cross["rows"]


def test_the_command_shows_a_given_target(checkpoint: Path, tmp_path: Path) -> None:
    output, png = tmp_path / "a.html", tmp_path / "a.png"
    words = ["attention", str(checkpoint), "Good morning.", "--target", "Guten Morgen."]
    assert cli.main([*words, "--output", str(output), "--png", str(png)]) == 0
    decoder = Page(output.read_text(encoding="utf-8")).kinds[1]
    assert decoder["rows"] == ["G", "\u2026uten", "Morgen", ".", "<eos>"]
    assert decoder["columns"] == ["<bos>", "G", "\u2026uten", "Morgen", "."]
    names = [f"a-{kind}.png" for kind in ("cross", "decoder", "encoder")]
    assert sorted(path.name for path in tmp_path.iterdir()) == [*names, "a.html"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["CHECKPOINT", " \u200b"], "the source is blank"),
        (["CHECKPOINT", "Hello.", "--target", ""], "the target is blank"),
        (["CHECKPOINT", 120 * "good "], "the source has 121 tokens; a picture shows at most 100"),
        (["CHECKPOINT", "Hi.", "--target", 120 * "gut "], "the target has "),
        (["CHECKPOINT", 1100 * "good "], "the source has 1101 tokens"),
        (["no/such/model", "Hello."], "no checkpoint can be read from no/such/model"),
        (["CHECKPOINT", "Hello.", "--output", "no/such/a.html"], "there is no folder no/such"),
        (["CHECKPOINT", "Hello.", "--png", "no/such/a.png"], "there is no folder no/such"),
        (["CHECKPOINT", "Hello.", "--png", "a.jpg"], "must name a file that ends in .png"),
        (["CHECKPOINT", "Hello.", "--target", "Hallo.", "--output", "."], "cannot write ."),
        (["CHECKPOINT", "Hello.", "--beam-size", "9"], "beam_size must be from 1 to 8"),
    ],
)
def test_what_cannot_be_drawn_is_told(
    checkpoint: Path,
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [str(checkpoint) if word == "CHECKPOINT" else word for word in words]
    assert cli.main(["attention", *words]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_missing_matplotlib_is_told_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "model.pictures.figure")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert cli.main(["attention", "no/model", "Hello.", "--png", str(tmp_path / "a.png")]) == 2
    assert "pip install 'dragoman[pictures]'" in capsys.readouterr().err


def test_unknown_words_are_told(
    text: TextProcessor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A vocabulary of whole words has no bytes to spell the others with."""
    corpus = Corpus(["a b c d"], ["a b c d"])
    words = train_vocabulary(
        corpus, VocabularyConfig(size=8, type="word", placeholders=0), tmp_path / VOCABULARY
    )
    model = build(words)
    save_model(tmp_path, dict(model.state_dict()), model.config)
    output = tmp_path / "a.html"
    command = ["attention", str(tmp_path), "a zebra c", "--target", "d", "--output", str(output)]
    assert cli.main(command) == 0
    assert Page(output.read_text()).kinds[0]["rows"] == ["a", "<unk>", "c", "<eos>"]
    assert "does not know, shown as <unk>: 1" in capsys.readouterr().err

"""The results as a picture: BLEU of every row, and BLEU by sentence length of some."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from model.ablation.summary import Summary


def draw(summaries: Sequence[Summary], by_length: Sequence[str], path: Path) -> None:
    """Write .svg or .png, as the path ends; rows without a result are left out.

    Args:
        summaries: the base first; one at least has a result.
        by_length: names of the rows to show by sentence length.
        path: file to write.
    """
    done = [summary for summary in summaries if summary.results]
    # Text stays text, and the same results give the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dragoman", "font.size": 9.0}):
        figure = Figure(figsize=(10, 1.2 + 0.26 * max(len(done), 10)), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        _bars(left, done, summaries[0])
        _lines(right, [summary for summary in done if summary.row.name in by_length])
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _bars(axes: Axes, summaries: Sequence[Summary], base: Summary) -> None:
    names = [summary.row.name for summary in summaries]
    bars = axes.barh(names, [s.bleu for s in summaries], color="#9ab8d8", height=0.7)
    axes.bar_label(bars, fmt="%.1f", label_type="center")
    for place, summary in enumerate(summaries):
        scores = [result.scores.bleu for result in summary.results]
        if len(scores) > 1:
            axes.plot(scores, [place] * len(scores), ".", color="#204a76")
    if base.results:
        axes.axvline(base.bleu, color="#b03030", linestyle="--", linewidth=1)
    axes.invert_yaxis()
    axes.set_xlabel("BLEU (dots: seeds; dashed: the base)")


def _lines(axes: Axes, summaries: Sequence[Summary]) -> None:
    for summary in summaries:
        parts = [part.words for part in summary.results[0].by_length]
        scores = [summary.bleu_of(words) or 0.0 for words in parts]
        axes.plot(parts, scores, "o-", label=summary.row.name)
    axes.set_xlabel("words of the source sentence")
    axes.set_ylabel("BLEU")
    if summaries:
        axes.legend()

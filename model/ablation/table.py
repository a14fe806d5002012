"""The results as Markdown tables."""

from __future__ import annotations

from collections.abc import Sequence

from model.ablation.result import Result
from model.ablation.summary import Summary

HEADS = (
    *("row", "in the paper", "changed", "parameters", "validation perplexity"),
    *("BLEU", "to base", "chrF", "target tokens/s"),
)


def results_table(summaries: Sequence[Summary]) -> str:
    """One line a row; the first is the base, to which the others' BLEU is compared."""
    base = summaries[0]
    return _table(HEADS, [_cells(summary, base) for summary in summaries])


def lengths_table(summaries: Sequence[Summary]) -> str:
    """BLEU by source length, of the rows that have results."""
    done = [summary for summary in summaries if summary.results]
    if not done:
        return ""
    parts = done[0].results[0].by_length
    heads = ["row", *(f"{part.words} words ({part.sentences})" for part in parts)]
    return _table(
        heads,
        [[s.row.name, *(_number(s.bleu_of(part.words), ".2f") for part in parts)] for s in done],
    )


def notes(summaries: Sequence[Summary]) -> str:
    """Under what conditions the numbers hold, and how far chance moves them."""
    done = [result for summary in summaries for result in summary.results]
    if not done:
        return "Not run yet."
    validation = summaries[0].outcomes[0].run.config.validation
    lines = [
        f"{done[0].steps:,} steps, {done[0].target_tokens / 1e6:.2f} M target tokens a run; beam "
        f"{validation.beam_size}, length penalty {validation.length_penalty}; "
        f"BLEU `{done[0].scores.bleu_signature}`, chrF `{done[0].scores.chrf_signature}`.",
        f"Trained and scored in FP32 on {'; '.join(dict.fromkeys(map(_place, done)))}.",
    ]
    scores = [result.scores.bleu for result in summaries[0].results]
    if len(scores) > 1:
        lines.append(
            f"{len(scores)} seeds of {summaries[0].row.name} lie between {min(scores):.2f} and "
            f"{max(scores):.2f} BLEU: a smaller difference may be chance."
        )
    failures = [f"Failed: {reason}." for summary in summaries for reason in summary.failures]
    return "\n".join([*lines, *failures])


def _place(result: Result) -> str:
    threads = f"{result.threads} thread{'s' * (result.threads > 1)}"
    return f"{result.machine}, {threads} a run"


def _cells(summary: Summary, base: Summary) -> list[str]:
    row = summary.row
    changed = ", ".join(f"`{k.partition('.')[2]}: {v}`" for k, v in row.change.items())
    first = [row.name, row.paper, changed or "nothing"]
    if not summary.results:
        return [*first, "", "failed" if summary.failures else "not run yet", "", "", "", ""]
    to_base = f"{summary.bleu - base.bleu:+.2f}" if base.results and summary is not base else ""
    return [
        *first,
        f"{summary.results[0].parameters / 1e6:.2f} M",
        f"{summary.mean(lambda r: r.perplexity):.2f}",
        _over_seeds([result.scores.bleu for result in summary.results], summary.bleu),
        to_base,
        f"{summary.mean(lambda r: r.scores.chrf):.2f}",
        f"{summary.mean(lambda r: r.tokens_per_second):,.0f}",
    ]


def _over_seeds(values: Sequence[float], mean: float) -> str:
    if len(values) == 1:
        return f"{mean:.2f}"
    return f"{mean:.2f} ({min(values):.2f} to {max(values):.2f})"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)

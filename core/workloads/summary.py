"""What a workload is like: counts and figures as data, and English sentences made from them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from core.workloads.workload import Note, Workload, WorkloadRow

SENTENCES: dict[str, str] = {
    "beyond_max_rows": "Only the first {value:,} rows were read; further rows: {rows:,}.",
    "zero_prompt": "Rows without a prompt left out: {rows:,}.",
    "zero_output": "Rows without output tokens (failed requests) left out: {rows:,}.",
    "zero_output_to_one": "Rows without output tokens that were given one: {rows:,}.",
    "no_exchange": "Conversations without a question and its answer left out: {rows:,}.",
    "columns": "Columns that are not part of a workload were passed over: {value}.",
    "knobs": "Only the requests were taken; a scenario's knobs are not part of a workload.",
    "outside_window": "The time that was drawn: {value}.",
    "no_arrivals": "The file has no arrival times: all requests arrive at once, unless a rate is"
                   " chosen.",
    "output_len": "Missing output lengths, taken to be {value:,} tokens: {rows:,}.",
    "chars_per_token": "Lengths are guessed from text, {value:g} characters a token.",
    "hashes_cover_less": "Prompts longer than their block ids say, the rest taken as not shared:"
                         " {rows:,}.",
    "hashes_from_tokens": "Shared prefixes were found by comparing the prompts' tokens, {value:,}"
                          " at a time.",
    "session_arrivals": "Calls that wait for the call before them, whose end was estimated with"
                        " {value:g} s per output token: {rows:,}.",
    "closed_loop": "A client's next request was placed by an estimate of how long the one before"
                   " takes ({value:g} s per output token); a real closed loop would wait for it.",
    "drawn": "The requests were drawn from distributions, with seed {value:,}.",
    "sorted": "The rows were sorted by time; out of order: {rows:,}.",
    "rebased": "Times are counted from the first arrival.",
    "renamed": "The file's ids repeat or are too long; rows are called r1, r2, ...",
    "filled_arrivals": "Arrivals were drawn: Poisson, {value:g} requests per second.",
    "window": "Rows outside the chosen time left out: {rows:,}.",
    "first": "Rows after the chosen number left out: {rows:,}.",
    "rate_scaled": "Arrivals were brought closer together by a factor of {value:g}.",
    "prompts_scaled": "Prompt lengths were multiplied by {value:g}.",
    "outputs_scaled": "Output lengths were multiplied by {value:g}.",
    "prompts_capped": "Prompts cut to {value:,} tokens: {rows:,}.",
    "outputs_capped": "Outputs cut to {value:,} tokens: {rows:,}.",
}
"""English words for the keys of notes."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution of token counts."""

    median: int
    p95: int
    """The value at rank 0.95 n."""
    max: int
    total: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A workload in a few figures."""

    format: str
    title: str
    num_requests: int
    time_unit: Literal["s", "step"] | None
    """What span and rate are counted in; None if there are no arrivals."""
    span: float | None
    """From the first arrival to the last."""
    rate: float | None
    """Requests per unit of time."""
    burstiness: float | None
    """Coefficient of variation of the gaps between arrivals: 1 is Poisson, more is burstier."""
    prompt: Lengths
    output: Lengths
    num_waiting_for_others: int
    """Calls of sessions that are sent after another one has ended."""
    shared: float | None
    """Share of the prompts' blocks (at the trace's own block size) that an unbounded prefix
    cache would find; None if the file has no block ids."""
    notes: tuple[Note, ...]


def summarise(workload: Workload) -> Summary:
    """The figures of a workload with at least one row."""
    rows = workload.rows
    times = sorted(arrival(row) for row in rows) if workload.time_unit else []
    span = times[-1] - times[0] if times else None
    return Summary(
        workload.format, workload.title, len(rows), workload.time_unit, span,
        len(rows) / span if span else None, _burstiness(times),
        _lengths([row.prompt_len for row in rows]), _lengths([row.output_len for row in rows]),
        sum(row.after is not None for row in rows), _shared(rows), workload.notes,
    )


def arrival(row: WorkloadRow) -> float:
    """Seconds or steps from the start; 0 if the row has neither."""
    if row.arrival_s is not None:
        return row.arrival_s
    return float(row.arrival_step or 0)


def sentences(summary: Summary) -> list[str]:
    """The summary in English, the most important thing first."""
    return [_span_sentence(summary),
            _length_sentence("Prompts", summary.prompt),
            _length_sentence("Outputs", summary.output),
            *([] if summary.shared is None else
              [f"{summary.shared:.1%} of the prompts' blocks were seen before: prefix hits in an"
               " unbounded cache."]),
            *(SENTENCES[n.key].format(rows=n.rows, value=n.value) for n in summary.notes)]


def _span_sentence(summary: Summary) -> str:
    count = summary.num_requests
    text = f"{summary.title}: {count:,} {'request' if count == 1 else 'requests'}"
    if summary.span is None:
        return f"{text} without arrival times."
    in_seconds = summary.time_unit == "s"
    text += f" in {summary.span:,.1f} s" if in_seconds else f" in {summary.span:,.0f} steps"
    if summary.rate is not None:
        text += f", {summary.rate:.3g} per {summary.time_unit}"
    if summary.burstiness is not None:
        text += f"; burstiness (CV of the gaps) {summary.burstiness:.2f}, where 1 is Poisson"
    return text + "."


def _length_sentence(what: str, lengths: Lengths) -> str:
    return (f"{what}: median {lengths.median:,}, 95% up to {lengths.p95:,}, longest"
            f" {lengths.max:,}; {lengths.total:,} tokens in all.")


def _lengths(values: Sequence[int]) -> Lengths:
    ordered = sorted(values)
    count = len(ordered)
    return Lengths(ordered[count // 2], ordered[int(0.95 * count)], ordered[-1], sum(ordered))


def _burstiness(times: Sequence[float]) -> float | None:
    gaps = [b - a for a, b in pairwise(times)]
    mean = sum(gaps) / len(gaps) if gaps else 0.0
    return statistics.pstdev(gaps) / mean if mean else None


def _shared(rows: Sequence[WorkloadRow]) -> float | None:
    seen: set[int] = set()
    total = 0
    for row in rows:
        total += len(row.prefix_hashes)
        seen.update(row.prefix_hashes)
    return 1 - len(seen) / total if total else None

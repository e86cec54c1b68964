"""Choosing a part of a workload and changing its scale: pure functions, Workload to Workload."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from core.faults import Fault, ScenarioError
from core.workloads import arrivals
from core.workloads.options import refuse_below
from core.workloads.summary import arrival
from core.workloads.workload import MAX_TOKENS, Note, Workload, WorkloadRow


@dataclass(frozen=True, slots=True)
class Slice:
    """What to take and how to change it, in the order of the fields. None leaves things alone."""

    rate: float | None = None
    """Where there are no arrivals: draw them, Poisson, so many requests per second."""
    seed: int = 0
    """For drawing them."""
    start: float = 0.0
    """Beginning of the time to take, in seconds (or steps) of the workload."""
    end: float | None = None
    """End of it; what arrives then is not taken."""
    first: int | None = None
    """Take so many rows."""
    rate_factor: float = 1.0
    """2 lets the same requests arrive twice as fast."""
    prompt_factor: float = 1.0
    output_factor: float = 1.0
    max_prompt_len: int | None = None
    """Longer prompts are cut."""
    max_output_len: int | None = None

    def __post_init__(self) -> None:
        refuse_below(self, 0, above=("rate", "end", "first", "rate_factor", "prompt_factor",
                                     "output_factor", "max_prompt_len", "max_output_len"),
                     at_least=("seed", "start"))
        if self.end is not None and self.start >= self.end:
            raise ScenarioError([Fault("end", self.end, f"must be above start ({self.start:g})")])


def apply(workload: Workload, chosen: Slice) -> Workload:
    """Everything that a Slice says, in the order of its fields. It may leave no row."""
    if chosen.rate is not None:
        workload = fill_arrivals(workload, chosen.rate, chosen.seed)
    if chosen.start or chosen.end is not None:
        workload = window(workload, chosen.start, chosen.end)
    if chosen.first is not None:
        workload = first(workload, chosen.first)
    workload = scale_rate(workload, chosen.rate_factor)
    workload = scale_lengths(workload, chosen.prompt_factor, chosen.output_factor)
    return cap_lengths(workload, chosen.max_prompt_len, chosen.max_output_len)


def fill_arrivals(workload: Workload, rate: float, seed: int) -> Workload:
    """Poisson arrivals for a workload that has none; another one stays as it is."""
    if workload.time_unit is not None or not workload.rows:
        return workload
    times = arrivals.poisson(arrivals.generator(seed), len(workload.rows), rate)
    rows = [replace(row, arrival_s=float(time))
            for row, time in zip(workload.rows, times, strict=True)]
    told = tuple(note for note in workload.notes if note.key != "no_arrivals")
    return replace(workload, rows=tuple(rows),
                   notes=(*told, Note("guessed", "filled_arrivals", len(rows), rate)))


def window(workload: Workload, start: float, end: float | None = None) -> Workload:
    """What arrives from ``start`` up to but not including ``end``, counted from ``start``."""
    if workload.time_unit is None:
        return workload
    until = math.inf if end is None else end
    kept = [row for row in workload.rows if start <= arrival(row) < until]
    moved = _with_times(kept, lambda time: time - start)
    note = Note("changed", "window", len(workload.rows) - len(kept))
    return workload.with_rows(_unbound(moved), note)


def first(workload: Workload, count: int) -> Workload:
    """The first rows."""
    if len(workload.rows) <= count:
        return workload
    note = Note("changed", "first", len(workload.rows) - count)
    return workload.with_rows(_unbound(list(workload.rows[:count])), note)


def scale_rate(workload: Workload, factor: float) -> Workload:
    """All arrivals closer together by this factor, or further apart if it is below 1."""
    if factor == 1 or workload.time_unit is None:
        return workload
    rows = _with_times(workload.rows, lambda time: time / factor)
    return workload.with_rows(rows, Note("changed", "rate_scaled", len(rows), factor))


def scale_lengths(workload: Workload, prompt_factor: float, output_factor: float) -> Workload:
    """Lengths multiplied, at least one token. Shared prefixes are stretched with the prompts."""
    notes = []
    rows: list[WorkloadRow] = list(workload.rows)
    if prompt_factor != 1:
        rows = [_stretched(row, prompt_factor) for row in rows]
        notes.append(Note("changed", "prompts_scaled", len(rows), prompt_factor))
    if output_factor != 1:
        rows = [replace(row, output_len=_scaled(row.output_len, output_factor)) for row in rows]
        notes.append(Note("changed", "outputs_scaled", len(rows), output_factor))
    return workload.with_rows(rows, *notes) if notes else workload


def cap_lengths(workload: Workload, max_prompt_len: int | None,
                max_output_len: int | None) -> Workload:
    """Longer prompts and outputs cut to these lengths."""
    notes = []
    rows: list[WorkloadRow] = list(workload.rows)
    if max_prompt_len is not None:
        count = sum(row.prompt_len > max_prompt_len for row in rows)
        rows = [_with_prompt(row, min(row.prompt_len, max_prompt_len)) for row in rows]
        notes.append(Note("changed", "prompts_capped", count, max_prompt_len))
    if max_output_len is not None:
        count = sum(row.output_len > max_output_len for row in rows)
        rows = [replace(row, output_len=min(row.output_len, max_output_len)) for row in rows]
        notes.append(Note("changed", "outputs_capped", count, max_output_len))
    told = [note for note in notes if note.rows]
    return workload.with_rows(rows, *told) if told else workload


def _with_times(rows: list[WorkloadRow] | tuple[WorkloadRow, ...],
                change: Callable[[float], float]) -> list[WorkloadRow]:
    return [
        replace(row, arrival_s=change(row.arrival_s)) if row.arrival_s is not None
        else replace(row, arrival_step=int(change(row.arrival_step or 0)))
        for row in rows
    ]


def _unbound(rows: list[WorkloadRow]) -> list[WorkloadRow]:
    """Rows whose predecessor is not among them wait for nobody."""
    there = {row.request_id for row in rows}
    return [row if row.after is None or row.after in there else replace(row, after=None)
            for row in rows]


def _scaled(length: int, factor: float) -> int:
    return min(MAX_TOKENS, max(1, round(length * factor)))


def _stretched(row: WorkloadRow, factor: float) -> WorkloadRow:
    block = row.prefix_hash_block
    row = replace(row, prefix_len=round(row.prefix_len * factor),
                  prefix_hash_block=None if block is None else _scaled(block, factor))
    return _with_prompt(row, _scaled(row.prompt_len, factor))


def _with_prompt(row: WorkloadRow, prompt_len: int) -> WorkloadRow:
    """The row with a prompt of this length, and no more prefix than it holds."""
    block = row.prefix_hash_block
    hashes = row.prefix_hashes if block is None else row.prefix_hashes[: -(-prompt_len // block)]
    return replace(row, prompt_len=prompt_len, prefix_len=min(row.prefix_len, prompt_len),
                   prefix_hashes=hashes)

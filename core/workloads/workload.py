"""The neutral form between a trace file (or a generator) and the requests of a Scenario.

A Workload is a tuple of rows, oldest arrival first, and notes that say what was skipped, guessed
or changed on the way here. Everything is frozen: a slice of a workload is a new workload.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.workloads.summary import Summary

MAX_TOKENS = 10_000_000
"""Longest prompt or output that a Request takes."""

NoteKind = Literal["skipped", "guessed", "changed"]


class Note(NamedTuple):
    """One thing that a user must know about a workload, as data; see summary.py for the words."""

    kind: NoteKind
    key: str
    """What happened: a key of ``summary.SENTENCES``."""
    rows: int = 0
    """Rows concerned."""
    value: float | str | None = None
    """The figure that was assumed or used, in the unit that the sentence names."""


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """One request of a workload. Lengths in tokens."""

    request_id: str
    prompt_len: int
    output_len: int
    arrival_s: float | None = None
    """Seconds after the workload's start; None if the file has no times, or has steps."""
    arrival_step: int | None = None
    """Step of the arrival, in files that were written for steps."""
    priority: int = 0
    """Smaller is more urgent."""
    prefix_id: str | None = None
    prefix_len: int = 0
    """Rows with the same prefix_id share the first ``prefix_len`` tokens of their prompts."""
    prefix_hashes: tuple[int, ...] = ()
    """Ids of the prompt's blocks: an equal id means that the prompts are equal up to its end."""
    prefix_hash_block: int | None = None
    """Tokens that each of the ids stands for."""
    after: str | None = None
    """The row that must end before this one is sent: the call before it in a session."""
    delay_s: float = 0.0
    """Seconds from the end of ``after`` to this row's arrival."""


@dataclass(frozen=True)
class Workload:
    """Rows and what has to be said about them."""

    format: str
    """Name of a file in core/workloads/formats, or ``generated``."""
    title: str
    rows: tuple[WorkloadRow, ...]
    notes: tuple[Note, ...] = ()
    rate_hint: float | None = None
    """Requests per second that the file names without giving times."""

    @property
    def time_unit(self) -> Literal["s", "step"] | None:
        """What the arrivals are counted in; None if the workload has none."""
        if any(row.arrival_s is not None for row in self.rows):
            return "s"
        return "step" if any(row.arrival_step is not None for row in self.rows) else None

    @cached_property
    def summary(self) -> Summary:
        """Rows, span, rate, burstiness, lengths, and the notes."""
        from core.workloads.summary import summarise

        return summarise(self)

    def with_rows(self, rows: Iterable[WorkloadRow], *notes: Note) -> Workload:
        """The same workload with other rows, and these notes added."""
        return replace(self, rows=tuple(rows), notes=self.notes + notes)



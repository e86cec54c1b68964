"""The record of a run: its rows, and the Trace that holds them (its words: core/vocabulary.py).

What is kept are changes: decisions (events), stays of a request in a state (spans), stays of
blocks with a holder (leases), edits of the queues, and one row of numbers per step. Everything
else (tables, pictures, sentences, metrics, exports) is derived from these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from core.scenario import Scenario
from core.vocabulary import Kind, Limit, Outcome, State

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Cause", "End", "Event", "Kind", "Limit", "Outcome", "Parking", "QueueEdit",
           "RequestRow", "Span", "State", "StepRow", "TableLease", "Trace"]


class Cause(NamedTuple):
    """Why: the limit, how much was needed, how much there was, and who else is concerned."""

    limit: Limit
    needed: int | None = None
    available: int | None = None
    other: str | None = None
    """The request on whose behalf, or behind whom."""


class Event(NamedTuple):
    """One decision."""

    step: int
    kind: Kind
    request: int | None
    """Position in ``scenario.requests``; None if a whole queue or no request is concerned."""
    num_tokens: int = 0
    """Tokens given; SWAPPED_OUT, SWAPPED_IN, COMPRESSED: blocks that were moved, or kept."""
    cause: Cause | None = None
    line: int | None = None
    """Line of the scheduler's source that decided."""
    queue: str | None = None
    num_cached_tokens: int = 0
    """Of num_tokens: found in the prefix cache, not computed."""
    block_id: int | None = None


class Span(NamedTuple):
    """A stay of a request in a state, from ``from_step`` up to but not including ``to_step``."""

    request: int
    state: State
    attempt: int
    """How often the request had been preempted (recompute) before: 0 is the first attempt."""
    from_step: int
    to_step: int
    num_tokens: int
    """Tokens that the request was given during the stay."""


class TableLease(NamedTuple):
    """The stay of a whole block table with a request; ``leases`` has one row for each block."""

    device: str
    request: int
    blocks: tuple[int, ...] | list[int]
    since: tuple[int, ...] | list[int]
    """For each block the step in which it joined the table."""
    to_step: int
    compressed: bool


class Parking(NamedTuple):
    """With prefix caching: the time in which nobody held a GPU block, but its content was kept."""

    block: int
    from_step: int
    to_step: int


class QueueEdit(NamedTuple):
    """In ``queue``, ``removed`` entries at ``position`` were replaced by ``inserted``."""

    step: int
    queue: str
    """waiting, running, swapped; or scheduled, the order in which a step served its requests."""
    position: int
    removed: int
    inserted: tuple[int, ...]


class StepRow(NamedTuple):
    """The numbers of a step, taken when the scheduler has decided and nothing is computed yet."""

    num_batched_tokens: int
    """Tokens that the scheduler charged to its budget."""
    num_prefill_tokens: int
    num_scheduled: int
    """Requests that got tokens."""
    num_running: int
    num_waiting: int
    num_swapped: int
    free_gpu_blocks: int
    free_cpu_blocks: int
    seqs_used: int
    """Sequences that the scheduler charged to its budget."""
    refusal: int | None
    """Index in ``events`` of the step's first refusal."""


class RequestRow(NamedTuple):
    """What became of a request. Steps are None where the thing never happened."""

    state: State
    num_output_tokens: int
    first_scheduled_step: int | None
    first_token_step: int | None
    end_step: int | None
    """Step in which the last token came, or in which the request was ignored."""
    num_preemptions: int
    num_swaps: int
    num_computed_tokens: int
    """Tokens that went through the model for this request, recomputed ones included."""
    num_cached_tokens: int


class End(NamedTuple):
    """How, when and why a run ended."""

    outcome: Outcome
    step: int
    """Number of steps that the run took; for ABORTED the step that died, which has no row."""
    cause: Cause | None = None
    request: int | None = None
    message: str = ""
    """ABORTED: the error of the real engine, in short."""


@dataclass(frozen=True)
class Trace:
    """A finished run. Immutable; the tables are made when they are first asked for."""

    scenario: Scenario
    end: End
    step_rows: list[StepRow]
    event_rows: list[Event]
    span_rows: list[Span]
    lease_rows: list[TableLease]
    queue_edits: list[QueueEdit]
    request_rows: list[RequestRow]
    starts_s: list[float] | None = None
    """With the clock in seconds: when each step began. With the clock in steps, None."""
    durations_s: list[float] | None = None
    """With the clock in seconds: how long each step took."""
    parkings: list[Parking] = field(default_factory=list)
    """Free blocks that could still be found by what they hold."""

    @property
    def num_steps(self) -> int:
        """Steps that were completed."""
        return len(self.step_rows)

    def start_s(self, step: int) -> float:
        """When the step began; the end of the run for the step behind the last. With the clock in
        steps it is the step's number."""
        if self.starts_s is None:
            return float(step)
        return self.starts_s[step] if step < len(self.starts_s) else self.end_s(step - 1)

    def end_s(self, step: int) -> float:
        """When the step was over; the end of the run for steps behind the last, its beginning for
        steps before the first."""
        if self.starts_s is None or self.durations_s is None:
            return float(step + 1)
        if step < 0 or not self.starts_s:
            return 0.0
        last = min(step, len(self.starts_s) - 1)
        return self.starts_s[last] + self.durations_s[last]

    def request_id(self, index: int | None) -> str | None:
        """The id of the request at this position of the scenario's list."""
        return None if index is None else self.scenario.requests[index].request_id

    @cached_property
    def first_preemptions(self) -> dict[int, int]:
        """For each request that was ever preempted (recompute) the step in which it first was."""
        first: dict[int, int] = {}
        for event in self.event_rows:
            if event.kind is Kind.PREEMPTED and event.request is not None:
                first.setdefault(event.request, event.step)
        return first

    @cached_property
    def first_losses(self) -> dict[int, int]:
        """For each request the step in which a preemption first took away what it had computed."""
        served: dict[int, int] = {}
        for edit in self.queue_edits:
            if edit.queue == "scheduled":
                for request in edit.inserted:
                    served.setdefault(request, edit.step)
        first: dict[int, int] = {}
        for event in self.event_rows:
            if event.kind is Kind.PREEMPTED and event.request is not None and (
                    served.get(event.request, event.step) < event.step):
                first.setdefault(event.request, event.step)
        return first

    @cached_property
    def steps(self) -> pd.DataFrame:
        """One row per step; see core/tables.py for the columns."""
        from core import tables

        return tables.steps_frame(self)

    @cached_property
    def events(self) -> pd.DataFrame:
        """One row per decision, in order."""
        from core import tables

        return tables.events_frame(self)

    @cached_property
    def spans(self) -> pd.DataFrame:
        """One row per stay of a request in a state."""
        from core import tables

        return tables.spans_frame(self)

    @cached_property
    def leases(self) -> pd.DataFrame:
        """One row per stay of a physical block with a holder."""
        from core import tables

        return tables.leases_frame(self)

    @cached_property
    def requests(self) -> pd.DataFrame:
        """One row per request with its outcome."""
        from core import tables

        return tables.requests_frame(self)

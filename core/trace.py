"""The record of a run: the words in which it is written, and the Trace that holds it.

What is kept are changes: decisions (events), stays of a request in a state (spans), stays of
blocks with a holder (leases), edits of the queues, and one row of numbers per step. Everything
else (tables, pictures, sentences, metrics, exports) is derived from these.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from core.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd


class State(StrEnum):
    """What a request is in. PREFILL and DECODE are both "running" in the article's words."""

    WAITING = "waiting"
    PREFILL = "prefill"
    DECODE = "decode"
    SWAPPED = "swapped"
    FINISHED = "finished"
    IGNORED = "ignored"
    ABORTED = "aborted"


class Kind(StrEnum):
    """What a scheduler can decide, or what happens to a request."""

    ARRIVED = "arrived"
    ADMITTED = "admitted"
    PREFILLED = "prefilled"
    """Got tokens of its prompt (or, recomputed, of all it has) in this step."""
    REFUSED = "refused"
    """Asked and got nothing now; the cause says which limit."""
    HELD = "held"
    """A whole queue was not looked at; the cause says why."""
    PREEMPTED = "preempted"
    """Lost its blocks and waits again, to be recomputed."""
    SWAPPED_OUT = "swapped_out"
    SWAPPED_IN = "swapped_in"
    TAKEN_BACK = "taken_back"
    """Tokens given earlier in the same step were taken away again."""
    COMPRESSED = "compressed"
    IGNORED = "ignored"
    EVICTED = "evicted"
    """A cached block lost its content because it was handed out."""
    UNCOMPUTED_ENTRY = "uncomputed_entry"
    """V1's defect: a block stays in the prefix cache though its tokens were taken back."""
    UNCOMPUTED_HIT = "uncomputed_hit"
    """A request took such a block for computed."""
    FINISHED = "finished"
    ABORTED = "aborted"
    """The engine died on behalf of this request."""


class Limit(StrEnum):
    """What said no. The value is the knob's own name where there is one."""

    TOKEN_BUDGET = "max_num_batched_tokens"
    SCHEDULED_TOKENS = "max_num_scheduled_tokens"
    """The token budget, where this knob sets it (V1)."""
    SEQ_BUDGET = "max_num_seqs"
    ACTIVE_SEQS = "max_num_active_seqs"
    """The sequence budget, where this knob sets it (V1)."""
    GPU_BLOCKS = "num_gpu_blocks"
    CPU_BLOCKS = "num_cpu_blocks"
    WATERMARK = "watermark"
    MODEL_LEN = "max_model_len"
    DELAY_FACTOR = "delay_factor"
    LONG_PREFILL = "long_prefill_token_threshold"
    FULL_ISL = "scheduler_reserve_full_isl"
    CHUNKED_PREFILL = "enable_chunked_prefill"
    PREFILL_INTERVAL = "prefill_schedule_interval"
    PRIORITY = "priority"
    HEAD_OF_LINE = "head_of_line"
    PREFILL_STEP = "prefill_step"
    PREEMPTING_STEP = "preempting_step"
    SWAPPED_FIRST = "swapped_first"
    BATCH_CLOSED = "batch_closed"
    CONTIGUOUS_RUN = "contiguous_run"
    """Enough free blocks, but not side by side; counted are those of the longest run."""
    INTERNAL_ERROR = "internal_error"
    """A check inside the real engine that fails and ends it."""


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


class Outcome(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    STUCK = "stuck"
    """Nothing was scheduled for STUCK_AFTER steps, with work left and no arrival to come."""
    ABORTED = "aborted"
    """The engine died."""
    STEP_LIMIT = "step_limit"


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

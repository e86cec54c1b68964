"""The words in which a run is recorded: states, decisions, limits and ends.

Their values are those of the tables, the sentences' keys and, for a limit, the knob's own name.
"""

from __future__ import annotations

from enum import StrEnum


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
    SPARE_BLOCK = "spare_block"
    """V0 demands a free block for whoever runs, even if its last one has room."""
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


class Outcome(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    STUCK = "stuck"
    """Nothing was scheduled for STUCK_AFTER steps, with work left and no arrival to come."""
    ABORTED = "aborted"
    """The engine died."""
    STEP_LIMIT = "step_limit"

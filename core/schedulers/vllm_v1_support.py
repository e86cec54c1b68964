"""What V1's scheduler stands on: its knobs, its memory, the moves of a request.

The decisions are in vllm_v1.py. Numbers in parentheses are sections of golden/v1.
"""

from __future__ import annotations

import sys
from bisect import bisect
from collections.abc import Iterable
from typing import ClassVar

from core.blocks import BlockManager, StackPool, blocks_for
from core.engine import Engine
from core.faults import Fault
from core.prefix_v1 import PrefixBlocks
from core.recorder import Recorder
from core.scenario import EngineConfig
from core.sequence import Sequence
from core.trace import Cause, Kind, Limit, State


class V1Engine(Engine):
    """The parts of V1 that decide nothing."""

    models = "vllm 0.33.0 (V1)"
    evidence = "112 recorded workloads, 6,672 steps: every field of every step equal"
    decode_call = "serve_running.give"
    knobs: ClassVar[tuple[str, ...]] = (
        "max_num_batched_tokens", "max_num_scheduled_tokens", "max_num_seqs",
        "max_num_active_seqs", "num_gpu_blocks", "block_size", "max_model_len", "policy",
        "enable_chunked_prefill", "enable_prefix_caching", "long_prefill_token_threshold",
        "long_prefill_token_threshold_adaptive", "scheduler_reserve_full_isl", "watermark",
        "prefill_schedule_interval",
    )

    def __init__(self, config: EngineConfig, record: Recorder) -> None:
        super().__init__(config, record)
        self.length_cap = config.max_model_len
        self.by_priority = config.policy == "priority"
        self.cache = self.blocks if isinstance(self.blocks, PrefixBlocks) else None
        """The blocks again, if there is prefix caching."""
        self.interval = PrefillInterval(config.prefill_schedule_interval)
        self.scheduled: list[Sequence] = []
        """Served in this step, in this order."""
        self.victims: list[Sequence] = []
        """Preempted in this step, in this order."""
        self.chunk_cap = sys.maxsize
        """Most tokens for one request in this step."""

        less_tokens = self.budget.token_budget < config.max_num_batched_tokens
        self.no_token = Cause(Limit.SCHEDULED_TOKENS if less_tokens else Limit.TOKEN_BUDGET, 1, 0)
        own_seats = config.max_num_active_seqs is not None
        self.no_seat = Cause(Limit.ACTIVE_SEQS if own_seats else Limit.SEQ_BUDGET, 1, 0)

    def make_blocks(self) -> BlockManager:
        """Block 0 is the null block and never handed out; there is no swap space (8)."""
        config = self.config
        if config.enable_prefix_caching:
            return PrefixBlocks(config.block_size, config.num_gpu_blocks, self.record)
        return BlockManager(config.block_size, StackPool(1, config.num_gpu_blocks),
                            StackPool(0, 0), self.record)

    @classmethod
    def budgets(cls, config: EngineConfig) -> tuple[int, int]:
        """Two knobs of V1's own come in front of those that all engines have."""
        tokens, own_tokens = config.max_num_batched_tokens, config.max_num_scheduled_tokens
        seats, own_seats = config.max_num_seqs, config.max_num_active_seqs
        return (tokens if own_tokens is None else min(tokens, own_tokens),
                seats if own_seats is None else own_seats)

    @classmethod
    def victim_rule(cls, config: EngineConfig) -> str:
        """See ``Scheduler.victim``."""
        return "least_urgent" if config.policy == "priority" else "last"

    @classmethod
    def config_faults(cls, config: EngineConfig) -> list[Fault]:
        """V1 knows two orders of the waiting queue."""
        if config.policy in ("fcfs", "priority"):
            return []
        return [Fault("policy", config.policy, "vLLM V1 knows fcfs and priority")]

    # -- what there is -----------------------------------------------------------------------

    @property
    def tokens_left(self) -> int:
        """Tokens that this step may still give."""
        return self.budget.token_budget - self.budget.used_tokens

    def nothing_left(self) -> Cause | None:
        """None if a token and a seat are left for one more request."""
        if not self.tokens_left:
            return self.no_token
        return None if len(self.running) < self.budget.seq_budget else self.no_seat

    def turn_away(self, seq: Sequence, cause: Cause) -> bool:
        """The head of the waiting queue is refused. Always False: it was not let in."""
        self.refuse(seq, cause, "waiting")
        return False

    def blocks_up_to(self, end: int) -> int:
        """Blocks that hold so many tokens of one request."""
        return blocks_for(min(end, self.config.max_model_len), self.config.block_size)

    # -- moves -------------------------------------------------------------------------------

    def enqueue(self, seq: Sequence) -> None:
        """The place in the waiting queue: at its end, or by urgency."""
        if self.by_priority:
            self.waiting.insert(bisect(self.waiting, urgency(seq), key=urgency), seq)
        else:
            self.waiting.append(seq)

    def give(self, seq: Sequence, num_tokens: int, cached: int = 0) -> None:
        """The request is served: so many tokens to compute, behind ``cached`` found ones."""
        self.budget.used_tokens += num_tokens
        self.scheduled.append(seq)
        if seq.state is State.DECODE:
            seq.num_scheduled_tokens = num_tokens
        else:
            self.prefill(seq, cached + num_tokens, cached)
            self.interval.note_prefill(seq, cached)
        if self.cache is not None:
            begin = seq.num_computed_tokens + cached
            self.cache.enter(seq, begin, begin + num_tokens)

    def take_back(self, seq: Sequence, cause: Cause) -> None:
        """The tokens that the request was given in this step go back to the budget (4.4)."""
        num_tokens = seq.num_scheduled_tokens
        self.record.event(Kind.TAKEN_BACK, seq, num_tokens, cause)
        self.budget.used_tokens -= num_tokens
        self.scheduled.remove(seq)
        if seq.state is State.PREFILL:
            seq.span_tokens -= num_tokens
            seq.total_computed -= num_tokens
            self.record.prefill_tokens -= num_tokens
        if self.cache is not None:
            begin = seq.num_computed_tokens
            self.cache.leave_uncomputed(seq, begin, begin + num_tokens)


def urgency(seq: Sequence) -> tuple[int, float]:
    """Sort key of the priority policy: smaller is served first and preempted last."""
    return seq.priority, seq.arrival_time


class PrefillInterval:
    """``prefill_schedule_interval``: prefill only in every so many-th step (6)."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.hold: Cause | None = None
        """Why there is no prefill in this step."""
        self._executed = 0
        self._last = -every
        self._backlog = False
        self._prefilled = False

    def begin_step(self, running: Iterable[Sequence]) -> None:
        """Hold prefills back while decodes run, nobody was left waiting, and it is too early."""
        self._prefilled, self.hold = False, None
        since = self._executed + 1 - self._last
        if since < self.every and not self._backlog and any(
            seq.state is State.DECODE for seq in running
        ):
            self.hold = Cause(Limit.PREFILL_INTERVAL, self.every, since)

    def note_prefill(self, seq: Sequence, cached: int) -> None:
        """The request was served; if all but its last token was cached, that is no prefill."""
        if cached < seq.num_tokens - 1:
            self._prefilled = True

    def waiting_was_served(self, left: bool) -> None:
        """The waiting queue was looked at; ``left``: somebody still stands in it."""
        if not self.hold:
            self._backlog = left

    def end_step(self, scheduled: bool) -> None:
        """A step that gave no tokens does not count."""
        self._executed += scheduled
        if self._prefilled:
            self._last = self._executed

"""What the systems before paging have in common: one reservation per request, made at the start.

Whoever starts gets a run of neighbouring blocks for its prompt and for as many output tokens as
the system reckons with, and keeps it to its end. Nobody is ever preempted or swapped. Prompts are
computed whole, in the same step as the next tokens of the others (Orca's selective batching).

Orca (OSDI 2022) bounds a step by its batch size alone. ``max_num_batched_tokens`` is kept as a
bound, as in all schedulers here, so that steps can be compared; set it high to lift it.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar

from core.blocks import blocks_for
from core.contiguous import ContiguousBlocks
from core.engine import Engine, SchedulingBudget
from core.recorder import Recorder
from core.scenario import EngineConfig
from core.sequence import Sequence
from core.trace import Cause, Limit

_RANKS: Mapping[str, Callable[[Sequence], float]] = MappingProxyType({
    "fcfs": lambda seq: 0,
    "priority": lambda seq: seq.priority,
    "length": lambda seq: seq.prompt_len,
})
"""Who stands before whom in the waiting queue; of equals, who came first."""


class ReservingEngine(Engine):
    """Memory, budget and moves of the schedulers that reserve."""

    models = "Orca, OSDI 2022, with the memory of the vLLM paper's section 6.1"
    decode_call = "schedule.decode"
    knobs: ClassVar[tuple[str, ...]] = (
        "max_num_batched_tokens", "max_num_seqs", "num_gpu_blocks", "block_size", "max_model_len",
        "policy",
    )
    blocks: ContiguousBlocks

    def __init__(self, config: EngineConfig, record: Recorder) -> None:
        super().__init__(config, record)
        self.length_cap = config.max_model_len
        self.scheduled: list[Sequence] = []

    def make_blocks(self) -> ContiguousBlocks:
        """One run per request; no swap space."""
        config = self.config
        return ContiguousBlocks(config.block_size, config.num_gpu_blocks, self.record)

    def enqueue(self, seq: Sequence) -> None:
        """By the policy: at the end, by priority, or by the length of the prompt."""
        rank = _RANKS[self.config.policy]
        self.waiting.insert(bisect(self.waiting, rank(seq), key=rank), seq)

    def begin_step(self) -> None:
        """A new budget, of which every running request takes its next token."""
        self.scheduled = []
        self.budget = SchedulingBudget(*self.budgets(self.config))

    def blocks_to_reserve(self, output_len: int) -> int:
        """Blocks for so many output tokens behind the head's prompt, up to max_model_len."""
        num_tokens = self.waiting[0].prompt_len + output_len
        return blocks_for(min(num_tokens, self.config.max_model_len), self.config.block_size)

    def never(self, seq: Sequence, num_blocks: int) -> Cause | None:
        """None if the request can start at all, in an empty engine."""
        config = self.config
        if seq.prompt_len > config.max_model_len:
            return Cause(Limit.MODEL_LEN, seq.prompt_len, config.max_model_len)
        if seq.prompt_len > config.max_num_batched_tokens:
            return Cause(Limit.TOKEN_BUDGET, seq.prompt_len, config.max_num_batched_tokens)
        if num_blocks > config.num_gpu_blocks:
            return Cause(Limit.GPU_BLOCKS, num_blocks, config.num_gpu_blocks)
        return None

    def not_now(self, seq: Sequence, num_blocks: int) -> Cause | None:
        """None if the budget and the memory have room for the request."""
        return self.budget.refusal(seq.prompt_len, 1) or self.blocks.cannot_reserve(num_blocks)

    def start(self, seq: Sequence, num_blocks: int) -> None:
        """waiting -> running: reserve, and compute the whole prompt in this step."""
        self.waiting.popleft()
        self.admit(seq)
        self.running.append(seq)
        self.blocks.reserve(seq, num_blocks)
        self.prefill(seq, seq.prompt_len)
        self._charge(seq, seq.prompt_len)

    def give_up(self, seq: Sequence, cause: Cause) -> None:
        """The head can never start."""
        self.waiting.popleft()
        self.ignore(seq, cause)

    def decode(self, seq: Sequence) -> None:
        """A running request gets its next token; its place is reserved."""
        seq.num_scheduled_tokens = 1
        self._charge(seq, 1)

    def _charge(self, seq: Sequence, num_tokens: int) -> None:
        self.budget.used_tokens += num_tokens
        self.budget.used_seqs += 1
        self.scheduled.append(seq)

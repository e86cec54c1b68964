"""What every scheduler stands on: the queues, the blocks, the budget, and the verbs.

A verb does a thing and writes it down. The objects that can say no (the budget, the memory) answer
with a Cause instead of a bare "false", so that the reason of a refusal is kept where it arises.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from core.blocks import BlockManager, StackPool
from core.faults import Fault
from core.recorder import Queue, Recorder
from core.scenario import EngineConfig
from core.sequence import Sequence
from core.trace import Cause, Kind, Limit, State


class EngineDied(Exception):
    """The real engine would end here. ``request`` is the one on whose behalf it failed."""

    def __init__(self, message: str, cause: Cause, request: Sequence) -> None:
        super().__init__(message)
        self.cause = cause
        self.request = request


class SchedulingBudget:
    """What a step may still spend (article, section 2.1)."""

    __slots__ = ("token_budget", "seq_budget", "used_tokens", "used_seqs")

    def __init__(self, token_budget: int, seq_budget: int) -> None:
        self.token_budget = token_budget
        self.seq_budget = seq_budget
        self.used_tokens = 0
        self.used_seqs = 0

    def refusal(self, new_tokens: int, new_seqs: int) -> Cause | None:
        """None if so many tokens and sequences still fit, else which budget lacks how much."""
        if self.used_tokens + new_tokens > self.token_budget:
            left = self.token_budget - self.used_tokens
            return Cause(Limit.TOKEN_BUDGET, new_tokens, left)
        if self.used_seqs + new_seqs > self.seq_budget:
            return Cause(Limit.SEQ_BUDGET, new_seqs, self.seq_budget - self.used_seqs)
        return None


class Engine:
    """A scheduler derives from this and gives ``schedule``. Its file's name is its name."""

    title: ClassVar[str] = ""
    """What it is called in lists; by default the first line of its docstring."""
    knobs: ClassVar[tuple[str, ...]] = ()
    """Names of the EngineConfig fields that it reads."""
    models: ClassVar[str] = ""
    """What it follows, in short: a paper, an engine and its version."""
    evidence: ClassVar[str] = "hand-computed examples and the invariants"
    """What shows that it decides as what it follows."""
    has_null_block: ClassVar[bool] = False
    """Block 0 of the GPU is reserved and never handed out."""
    breaks: ClassVar[dict[str, str]] = {}
    """Invariants that the modelled algorithm does not keep, each with the reason."""
    decode_call: ClassVar[str] = ""
    """``method.call``: the call in its file that gives a running request its next token."""
    needs_true_length: ClassVar[bool] = False
    """Whether it is an oracle: told the output lengths, which no real engine can know."""
    true_lengths: Mapping[str, int] = MappingProxyType({})
    """For an oracle: the output length of every request, by id. For all others empty."""
    now: float = 0
    """When the present step begins, in the unit of ``Sequence.arrival_time``."""
    length_cap: int = sys.maxsize
    """A request also ends when it has so many tokens."""

    def __init__(self, config: EngineConfig, record: Recorder) -> None:
        self.config = config
        self.record = record
        self.waiting = Queue("waiting", record)
        self.running = Queue("running", record)
        self.swapped = Queue("swapped", record)
        self.blocks = self.make_blocks()
        self.budget = SchedulingBudget(*self.budgets(config))

    def make_blocks(self) -> BlockManager:
        """The memory of this engine."""
        config = self.config
        return BlockManager(config.block_size, StackPool(0, config.num_gpu_blocks),
                            StackPool(0, config.num_cpu_blocks), self.record)

    @classmethod
    def budgets(cls, config: EngineConfig) -> tuple[int, int]:
        """Most tokens that one step may compute, and most requests that may run."""
        return config.max_num_batched_tokens, config.max_num_seqs

    @classmethod
    def victim_rule(cls, config: EngineConfig) -> str:
        """Who has to go when somebody else needs a block: the end of a key ``victim.`` of the
        templates."""
        return "last"

    @classmethod
    def config_faults(cls, config: EngineConfig) -> list[Fault]:
        """What this engine would refuse at its start. Fields without a leading ``config.``"""
        return []

    @property
    def num_alive(self) -> int:
        """Requests in one of the queues."""
        return len(self.waiting) + len(self.running) + len(self.swapped)

    def schedule(self) -> list[Sequence]:
        """Decide one step.

        Returns:
            The requests that are computed in this step, in the engine's order, each with its
            ``num_scheduled_tokens``.
        """
        raise TypeError(f"{type(self).__name__} has no schedule()")

    # -- the verbs ---------------------------------------------------------------------------

    def arrive(self, seq: Sequence) -> None:
        """A request joins the waiting queue."""
        self.record.event(Kind.ARRIVED, seq, queue="waiting")
        self.enqueue(seq)

    def enqueue(self, seq: Sequence) -> None:
        """Where a newcomer stands in the waiting queue: at its end."""
        self.waiting.append(seq)

    def admit(self, seq: Sequence) -> None:
        """A waiting request starts to run (its first step, or again after a recompute)."""
        self.record.event(Kind.ADMITTED, seq, queue="waiting")
        self.record.enter(seq, State.PREFILL)
        if seq.first_scheduled_step is None:
            seq.first_scheduled_step = self.record.step

    def prefill(self, seq: Sequence, num_tokens: int, num_cached_tokens: int = 0) -> None:
        """Give tokens of the prompt, of which ``num_cached_tokens`` need no computing."""
        record = self.record
        seq.num_scheduled_tokens = num_tokens
        seq.span_tokens += num_tokens
        seq.total_computed += num_tokens - num_cached_tokens
        seq.total_cached += num_cached_tokens
        record.prefill_tokens += num_tokens - num_cached_tokens
        record.event(Kind.PREFILLED, seq, num_tokens, num_cached_tokens=num_cached_tokens)

    def refuse(self, seq: Sequence, cause: Cause, queue: str) -> None:
        """The request gets nothing now; ``queue`` is where it stands."""
        self.record.event(Kind.REFUSED, seq, cause=cause, queue=queue)

    def hold(self, queue: Queue, cause: Cause) -> None:
        """Nobody in this queue is looked at in this step."""
        if queue:
            self.record.event(Kind.HELD, None, cause=cause, queue=queue.name)

    def ignore(self, seq: Sequence, cause: Cause) -> None:
        """The request can never run: it ends as FINISHED_IGNORED."""
        self.record.event(Kind.IGNORED, seq, cause=cause)
        seq.end_step = self.record.step
        self.record.enter(seq, State.IGNORED)

    def preempt(self, seq: Sequence, cause: Cause) -> None:
        """The victim loses its blocks and all its computed tokens, and waits again."""
        self.record.event(Kind.PREEMPTED, seq, cause=cause)
        self.blocks.free(seq)
        seq.num_computed_tokens = 0
        seq.num_preemptions += 1
        self.record.enter(seq, State.WAITING)
        seq.attempt += 1

    def swap_out(self, seq: Sequence, cause: Cause, needed: int | None = None) -> None:
        """The victim's blocks move to the CPU.

        Args:
            needed: CPU blocks that the engine asks for; by default as many as the request holds.

        Raises:
            EngineDied: if the CPU has fewer free blocks.
        """
        needed = len(seq.block_table) if needed is None else needed
        free = self.blocks.cpu.num_free
        if needed > free:
            raise EngineDied("lack of CPU swap space", Cause(Limit.CPU_BLOCKS, needed, free), seq)
        self.record.event(Kind.SWAPPED_OUT, seq, len(seq.block_table), cause)
        self.blocks.swap_out(seq)
        seq.num_swaps += 1
        self.record.enter(seq, State.SWAPPED)

    def swap_in(self, seq: Sequence) -> None:
        """A swapped-out request gets GPU blocks again and goes on where it stopped."""
        self.record.event(Kind.SWAPPED_IN, seq, len(seq.cpu_blocks), queue="swapped")
        self.blocks.swap_in(seq)
        half_done = seq.num_slots == seq.num_tokens  # nothing was generated since its admission
        self.record.enter(seq, State.PREFILL if half_done else State.DECODE)

    def finish(self, seq: Sequence) -> None:
        """The request has its last token: it leaves and gives up its blocks."""
        step = self.record.step - 1  # the step that computed the token; its row is closed
        self.record.event(Kind.FINISHED, seq, seq.num_output_tokens, step=step)
        seq.end_step = step
        self.running.remove(seq)
        self.blocks.free(seq)
        self.record.enter(seq, State.FINISHED)

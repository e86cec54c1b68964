"""What the article's listing leaves open, filled in by the least that makes it run.

- A request holds ``ceil(tokens / block_size)`` blocks; it can be allocated if so many are free.
- A decode that starts a new block needs a free one; lacking it is the same shortage as lacking
  budget.
- Swapping out moves the blocks to CPU blocks; with too few of them free, the run aborts. Recompute
  frees the blocks. Restoring needs as many free GPU blocks.
- The order of the waiting queue and the two further extensions of section 5.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from core.blocks import blocks_for
from core.engine import Engine, SchedulingBudget
from core.recorder import Recorder
from core.scenario import EngineConfig
from core.sequence import Sequence
from core.trace import Cause, Kind, Limit, State


class ArticleEngine(Engine):
    """Memory, queue order and compression for both of the article's schedulers."""

    models = "the article"
    evidence = "hand-computed examples, for each slip as printed and as mended"
    decode_call = "schedule_running.append_token"
    knobs = (
        "max_num_batched_tokens", "max_num_seqs", "num_gpu_blocks", "num_cpu_blocks", "block_size",
        "max_model_len", "preemption_mode", "policy", "batch_group_size", "compress_swapped",
        "compression_ratio", "compression_min_blocks",
    )

    def __init__(self, config: EngineConfig, record: Recorder) -> None:
        super().__init__(config, record)
        self.max_prompt_len = config.max_model_len
        self.swap_strategy = "RECOMPUTE" if config.preemption_mode == "recompute" else "SWAP"
        self.scheduled: list[Sequence] = []

    def new_budget(self) -> SchedulingBudget:
        """The budget of one cycle."""
        self.scheduled = []
        self.budget = SchedulingBudget(*self.budgets(self.config))
        return self.budget

    # -- memory ------------------------------------------------------------------------------

    def cannot_allocate(self, seq_group: Sequence) -> Cause | None:
        """None if the blocks for all tokens of the request are free."""
        needed = blocks_for(seq_group.num_tokens, self.config.block_size)
        free = self.blocks.gpu.num_free
        return Cause(Limit.GPU_BLOCKS, needed, free) if needed > free else None

    def cannot_restore(self, seq_group: Sequence) -> Cause | None:
        """None if as many GPU blocks are free as the request had."""
        needed = seq_group.num_swapped_blocks or len(seq_group.cpu_blocks)
        free = self.blocks.gpu.num_free
        return Cause(Limit.GPU_BLOCKS, needed, free) if needed > free else None

    def cannot_append(self, seq_group: Sequence) -> Cause | None:
        """None if the next token has a place: in the last block, or in a free one."""
        if seq_group.num_tokens < len(seq_group.block_table) * self.config.block_size:
            return None
        return None if self.blocks.gpu.num_free else Cause(Limit.GPU_BLOCKS, 1, 0)

    # -- moves -------------------------------------------------------------------------------

    def start(self, seq_group: Sequence) -> None:
        """waiting -> RUNNING: allocate the blocks and compute all tokens."""
        self.admit(seq_group)
        self.blocks.grow(seq_group, blocks_for(seq_group.num_tokens, self.config.block_size))

    def restore(self, seq_group: Sequence) -> None:
        """swapped -> RUNNING. The listing takes its tokens for computed, and so do we."""
        seq_group.num_computed_tokens = seq_group.num_tokens - 1
        self.swap_in(seq_group)

    def append_token(self, seq_group: Sequence) -> None:
        """The request gets its next token in this step, and a place for it."""
        if seq_group.state is State.PREFILL:
            self.prefill(seq_group, seq_group.num_tokens)
        else:
            seq_group.num_scheduled_tokens = 1
        if seq_group.num_tokens >= len(seq_group.block_table) * self.config.block_size:
            self.blocks.grow(seq_group)
        self.scheduled.append(seq_group)

    # -- section 5 ---------------------------------------------------------------------------

    def order_waiting(self) -> None:
        """5.1 priority: smaller number first; 5.2 dynamic batching: shortest prompt first."""
        if self.config.policy == "priority":
            self.waiting.become(sorted(self.waiting, key=lambda s: s.priority))
        elif self.config.policy == "length":
            self.waiting.become(sorted(self.waiting, key=lambda s: s.prompt_len))

    def group_is_full(self, scheduled: list[Sequence]) -> Cause | None:
        """5.2: one group of similar lengths is admitted in a cycle."""
        size = self.config.batch_group_size
        if self.config.policy != "length" or len(scheduled) < size:
            return None
        return Cause(Limit.BATCH_CLOSED, len(scheduled) + 1, size)

    def compress_swapped(self) -> None:
        """5.3: a swapped request with more than so many blocks is squeezed into fewer."""
        if not self.config.compress_swapped:
            return
        ratio = Fraction(str(self.config.compression_ratio))  # 12 blocks at 1.2 are 10, not 11
        for seq_group in self.swapped:
            count = len(seq_group.cpu_blocks)
            if count > self.config.compression_min_blocks and not seq_group.num_swapped_blocks:
                keep = ceil(count / ratio)
                self.record.event(Kind.COMPRESSED, seq_group, keep, queue="swapped")
                self.blocks.compress(seq_group, keep)

"""What the classic engine (V0) asks of its memory before it admits, runs or moves a request.

Every question is answered with a Cause, or None for yes. Section numbers are those of golden/v0,
surprises are listed in schedulers/vllm_v0.py.
"""

from __future__ import annotations

from core.blocks import BlockManager, StackPool, blocks_for
from core.recorder import Recorder
from core.scenario import EngineConfig
from core.sequence import Sequence
from core.trace import Cause, Limit


class V0Blocks(BlockManager):
    """The block tables of V0 without prefix caching."""

    def __init__(self, config: EngineConfig, record: Recorder, pool: type[StackPool] = StackPool,
                 ) -> None:
        super().__init__(config.block_size, pool(0, config.num_gpu_blocks),
                         pool(0, config.num_cpu_blocks), record)
        self.num_gpu_blocks = config.num_gpu_blocks
        self.reserve = int(config.watermark * config.num_gpu_blocks)
        """Blocks that admission and swap-in leave free; a running request may take them
        (surprise 6)."""

    # -- questions -----------------------------------------------------------------------------

    def can_never_allocate(self, seq: Sequence) -> Cause | None:
        """Not even an empty GPU has room for the request and the reserve (2.7.4)."""
        return self._shortage(blocks_for(seq.num_tokens, self.block_size), self.num_gpu_blocks)

    def cannot_allocate(self, seq: Sequence) -> Cause | None:
        """Too few blocks are free now. All tokens count, those of later chunks too, and cached
        ones as well (2.7.4, surprise 14)."""
        return self._shortage(blocks_for(seq.num_tokens, self.block_size), self.gpu.num_free)

    def cannot_append(self, seq: Sequence) -> Cause | None:
        """The request touches a block and none is free (2.8.2), needed or not (surprise 1)."""
        if self.gpu.num_free or not self.touched(seq):
            return None
        has_room = seq.num_slots % self.block_size > 0
        return Cause(Limit.SPARE_BLOCK if has_room else Limit.GPU_BLOCKS, 1, 0)

    def can_never_swap_in(self, seq: Sequence) -> Cause | None:
        """Not even an empty GPU has room for it. The reserve is left out here (2.9.1)."""
        needed = self.needed_to_swap(seq, self.gpu)
        if needed <= self.num_gpu_blocks:
            return None
        return Cause(Limit.GPU_BLOCKS, needed, self.num_gpu_blocks)

    def cannot_swap_in(self, seq: Sequence) -> Cause | None:
        """Too few GPU blocks are free now to come back and to go on (2.9.1)."""
        return self._shortage(self.needed_to_swap(seq, self.gpu), self.gpu.num_free)

    def touched(self, seq: Sequence) -> int:
        """Free blocks that the request demands for its next step: 1 or 0 (2.8.2).

        A decode demands one even if its last block has room (surprise 1), a half-done prefill
        although it has all its blocks (surprise 11): the question is whether a block is written,
        not whether one is missing.
        """
        decodes = seq.num_slots < seq.num_tokens
        return int(decodes or seq.num_slots % self.block_size > 0)

    def needed_to_swap(self, seq: Sequence, target: StackPool) -> int:
        """Blocks that a swap to the other device asks for: one too many at a block edge (2.8,
        surprise 4)."""
        return self.full_blocks_needed(seq, target) + self.touched(seq)

    def full_blocks_needed(self, seq: Sequence, target: StackPool) -> int:
        """Full blocks of the table that need a free block on the other device."""
        return seq.num_slots // self.block_size

    def hit_len(self, seq: Sequence) -> int:
        """Tokens that a prefix cache spares the request: none without one."""
        return 0

    def _shortage(self, needed: int, available: int) -> Cause | None:
        if needed > available:
            return Cause(Limit.GPU_BLOCKS, needed, available)
        if needed > available - self.reserve:
            return Cause(Limit.WATERMARK, needed, max(0, available - self.reserve))
        return None

    # -- moves ---------------------------------------------------------------------------------

    def allocate(self, seq: Sequence) -> None:
        """Give the request the blocks for all its tokens."""
        seq.num_slots = seq.num_tokens
        self.grow(seq, blocks_for(seq.num_tokens, self.block_size))

    def append(self, seq: Sequence) -> None:
        """Tell the table of the token generated last; a full table takes one more block."""
        if seq.num_slots < seq.num_tokens:  # else a prompt half done: the table knows all of it
            if seq.num_slots % self.block_size == 0:
                self.grow(seq)
            seq.num_slots += 1

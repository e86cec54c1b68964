"""KV memory as it was before paging: every request gets one run of neighbouring blocks at once.

The grid of blocks is the same as everywhere else. A run is found first-fit, and given back as a
whole. What is reserved and empty, and what lies free in pieces too small for anybody, is seen in
the leases.
"""

from __future__ import annotations

from bisect import bisect, insort

from core.blocks import BlockManager, StackPool
from core.recorder import Recorder
from core.sequence import Sequence
from core.trace import Cause, Limit


class ContiguousPool(StackPool):
    """Free blocks as a list of holes (first block, end), in order and never touching."""

    def __init__(self, first: int, end: int) -> None:
        self.size = end - first
        self._holes = [(first, end)]
        self._num_free = self.size

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds, in all holes together."""
        return self._num_free

    @property
    def longest_run(self) -> int:
        """Blocks of the largest hole."""
        return max((end - first for first, end in self._holes), default=0)

    def take_run(self, count: int) -> list[int]:
        """So many neighbouring blocks, from the first hole that has them. There must be one."""
        at = next(i for i, (first, end) in enumerate(self._holes) if end - first >= count)
        first, end = self._holes[at]
        self._holes[at : at + 1] = [(first + count, end)] if end - first > count else []
        self._num_free -= count
        return list(range(first, first + count))

    def take(self) -> int:
        """The first free block."""
        return self.take_run(1)[0]

    def give_back(self, blocks: list[int]) -> None:
        """A run is given back, and grows together with the holes that it touches."""
        if not blocks:
            return
        first, end = blocks[0], blocks[-1] + 1
        at = bisect(self._holes, (first, end))
        if at < len(self._holes) and self._holes[at][0] == end:
            end = self._holes.pop(at)[1]
        if at and self._holes[at - 1][1] == first:
            first = self._holes.pop(at - 1)[0]
        insort(self._holes, (first, end))
        self._num_free += len(blocks)


class ContiguousBlocks(BlockManager):
    """The runs of all requests. Nothing grows, and nothing is swapped."""

    def __init__(self, block_size: int, num_gpu_blocks: int, record: Recorder) -> None:
        self.pool = ContiguousPool(0, num_gpu_blocks)
        super().__init__(block_size, self.pool, StackPool(0, 0), record)

    def cannot_reserve(self, count: int) -> Cause | None:
        """None if so many neighbouring blocks are free. Enough blocks, but in pieces, is another
        shortage than too few: external fragmentation."""
        if count > self.pool.num_free:
            return Cause(Limit.GPU_BLOCKS, count, self.pool.num_free)
        if count > self.pool.longest_run:
            return Cause(Limit.CONTIGUOUS_RUN, count, self.pool.longest_run)
        return None

    def reserve(self, seq: Sequence, count: int) -> None:
        """The request gets a run for all the tokens that it may ever have."""
        seq.block_table = self.pool.take_run(count)
        seq.block_since = [self._record.step] * count

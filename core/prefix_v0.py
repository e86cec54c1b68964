"""V0's prefix caching: full blocks are found again by what they hold (golden/v0 2.10, 2.11).

A full block is registered under its content. It is held by one or more tables, or parked: held by
nobody and kept until its room is needed. Each device has a registry of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heapify, heappop, heappush

from core.blocks import StackPool
from core.blocks_v0 import V0Blocks
from core.recorder import Recorder
from core.scenario import EngineConfig
from core.sequence import Sequence
from core.trace import Kind

Key = tuple[str | int, int]
"""A full block's content (``Sequence.block_key``): whose tokens, and where the block ends."""

NEVER = -1
"""Access time of a block whose holders all still run: smaller than every step."""


class PrefixPool(StackPool):
    """The blocks of one device. Free are those on the stack and those that are parked."""

    def __init__(self, first: int, end: int) -> None:
        super().__init__(first, end)
        self._block: dict[Key, int] = {}
        self._key: dict[int, Key] = {}
        self._since: dict[int, int] = {}
        self._holders: dict[int, int] = {}
        self._accessed: dict[int, int] = {}
        self._parked: dict[int, tuple[int, int, int]] = {}
        self._queue: list[tuple[int, int, int]] = []
        """A heap of parked blocks; an entry that is not in ``_parked`` is out of date."""

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds."""
        return len(self._free) + len(self._parked)

    @property
    def must_evict(self) -> bool:
        """The next block to be taken is a parked one."""
        return not self._free

    def take(self) -> int:
        """The next free block; if there is none, the parked one that is worth the least."""
        block = self._evict() if self.must_evict else self._free.pop()
        self._accessed[block] = NEVER
        return block

    def register(self, block: int, key: Key, step: int) -> None:
        """A block just taken is full: from now on it is found under its content."""
        assert key not in self._block, "equal contents share one block"
        self._block[key], self._key[block] = block, key
        self._since[block], self._holders[block] = step, 1

    def share(self, key: Key) -> int | None:
        """Hold the block with this content too; fetched from parking it forgets its access."""
        block = self._block.get(key)
        if block is not None:
            self._holders[block] += 1
            if self._parked.pop(block, None):
                self._accessed[block] = NEVER
        return block

    def touch(self, blocks: list[int], step: int) -> None:
        """A table about to be freed was last used at ``step``: so were all its blocks."""
        for block in blocks:
            self._accessed[block] = step

    def give_back(self, blocks: list[int]) -> None:
        """A table is given back, first block first."""
        for block in blocks:
            if block not in self._key:
                self._free.append(block)
                continue
            self._holders[block] -= 1
            if not self._holders[block]:
                self._park(block)

    def is_parked(self, block: int) -> bool:
        """Nobody holds the block, and its content is kept."""
        return block in self._parked

    def is_held(self, key: Key) -> bool:
        """Some table on this device holds this content."""
        block = self._block.get(key)
        return block is not None and block not in self._parked

    def is_computed(self, key: Key, step: int) -> bool:
        """The content was registered before this step. Whether it has been computed by then
        (a prompt in chunks may not have been) the engine does not ask: surprise 13."""
        block = self._block.get(key)
        return block is not None and self._since[block] < step

    def _park(self, block: int) -> None:
        """The next to be evicted is the one unused for longest, then the longest prefix, then the
        smallest id."""
        self._parked[block] = entry = (self._accessed[block], -self._key[block][1], block)
        heappush(self._queue, entry)
        if len(self._queue) > 2 * self.size:  # mostly out of date by now
            self._queue = list(self._parked.values())
            heapify(self._queue)

    def _evict(self) -> int:
        while self._parked.get((entry := heappop(self._queue))[2]) != entry:
            pass
        block = entry[2]
        del self._parked[block], self._holders[block], self._since[block]
        del self._block[self._key.pop(block)]
        return block


class PrefixV0Blocks(V0Blocks):
    """The block tables of V0 with prefix caching."""

    gpu: PrefixPool
    cpu: PrefixPool

    def __init__(self, config: EngineConfig, record: Recorder) -> None:
        super().__init__(config, record, PrefixPool)

    def hit_len(self, seq: Sequence) -> int:
        """Tokens that the cache spares the request, looked up once and then kept (2.11, surprise
        12)."""
        if seq.hit_len is None:
            size, step = self.block_size, self._record.step
            ends = range(size, seq.num_tokens + 1, size)
            # a binary search, as in the engine: it would not notice a gap in the middle
            found = bisect_left(ends, True, key=lambda end: not self.gpu.is_computed(
                seq.block_key(end), step))
            seq.hit_len = found * size
        return seq.hit_len

    def full_blocks_needed(self, seq: Sequence, target: StackPool) -> int:
        """Full blocks that nobody holds on the other device (2.10)."""
        assert isinstance(target, PrefixPool)
        return sum(not target.is_held(seq.block_key(end)) for end in self._full_ends(seq))

    def allocate(self, seq: Sequence) -> None:
        """Share what is registered, whatever the hit length says; take and register the rest.

        What was counted as a hit and has been evicted since is taken for computed all the same, a
        defect of the real engine (surprise 12); each such block is an event.
        """
        seq.num_slots = seq.num_tokens
        seq.block_table = self._fill(seq, self.gpu, counted=seq.hit_len or 0)
        seq.block_since = [self._record.step] * len(seq.block_table)

    def grow(self, seq: Sequence, count: int = 1) -> None:
        """Append so many new blocks to the request's table."""
        for _ in range(count):
            seq.block_table.append(self._take(seq, self.gpu))
            seq.block_since.append(self._record.step)

    def append(self, seq: Sequence) -> None:
        """As without caching; a block that becomes full is registered in this step."""
        decodes = seq.num_slots < seq.num_tokens
        super().append(seq)
        if decodes and seq.num_slots % self.block_size == 0:
            key = seq.block_key(seq.num_slots)
            self.gpu.register(seq.block_table[-1], key, self._record.step)

    def free(self, seq: Sequence) -> None:
        """The request gives up its blocks, and the hit length that was counted for it."""
        self.gpu.touch(seq.block_table, seq.last_step)
        seq.hit_len = None
        self._leave_gpu(seq)

    def swap_out(self, seq: Sequence) -> None:
        """Leave the GPU as in freeing, but without a new access time; fill a table on the CPU."""
        self._leave_gpu(seq)
        seq.cpu_blocks = self._fill(seq, self.cpu)
        seq.cpu_since = [self._record.step] * len(seq.cpu_blocks)

    def swap_in(self, seq: Sequence) -> None:
        """Leave the CPU, and fill a table on the GPU."""
        self.free_cpu(seq)
        seq.block_table = self._fill(seq, self.gpu)
        seq.block_since = [self._record.step] * len(seq.block_table)

    def _leave_gpu(self, seq: Sequence) -> None:
        table = seq.block_table
        super().free(seq)
        for block in table:
            if self.gpu.is_parked(block):
                self._record.park(block)

    def _fill(self, seq: Sequence, pool: PrefixPool, counted: int = 0) -> list[int]:
        """A table for all slots: each full block shared or new, the part-filled last one new."""
        table = []
        for end in self._full_ends(seq):
            key = seq.block_key(end)
            block = pool.share(key)
            if block is None:
                block = self._take(seq, pool)
                pool.register(block, key, self._record.step)
                if end <= counted:
                    self._record.event(Kind.UNCOMPUTED_HIT, seq, self.block_size, block_id=block)
            elif pool is self.gpu:
                self._record.unpark(block)
            table.append(block)
        if seq.num_slots % self.block_size:
            table.append(self._take(seq, pool))
        return table

    def _take(self, seq: Sequence, pool: PrefixPool) -> int:
        evicts = pool.must_evict
        block = pool.take()
        if evicts and pool is self.gpu:
            self._record.unpark(block)
            self._record.event(Kind.EVICTED, seq, block_id=block)
        return block

    def _full_ends(self, seq: Sequence) -> range:
        return range(self.block_size, seq.num_slots + 1, self.block_size)

"""V1's blocks with prefix caching: who holds a block, what it holds, and which one comes next.

Source: golden/v1 sections 8 and 9. A full block is entered in the index when its tokens are given
out, before anything is computed, so whoever is let in later in the same step finds it. An entry
outlives its holders and goes only when its block is handed out again (it is evicted).
"""

from __future__ import annotations

from collections import OrderedDict

from core.blocks import BlockManager, StackPool
from core.recorder import Recorder
from core.sequence import Sequence
from core.trace import Kind

Key = tuple[str | int, int]
"""What a full block holds, see ``Sequence.block_key``."""


class PrefixIndex:
    """Which blocks hold what. Several may hold the same: each of their requests computed it."""

    def __init__(self) -> None:
        self.uncomputed: set[int] = set()
        """Entered blocks whose tokens were taken back before anybody computed them."""
        self._blocks: dict[Key, list[int]] = {}
        self._keys: dict[int, Key] = {}

    def __contains__(self, block: int) -> bool:
        return block in self._keys

    def find(self, key: Key) -> int | None:
        """The block that was entered first among those that hold this."""
        blocks = self._blocks.get(key)
        return blocks[0] if blocks else None

    def enter(self, block: int, key: Key) -> None:
        """From now on the block can be found."""
        self._keys[block] = key
        self._blocks.setdefault(key, []).append(block)

    def forget(self, block: int) -> None:
        """The block loses its entry."""
        key = self._keys.pop(block)
        self._blocks[key].remove(block)
        if not self._blocks[key]:
            del self._blocks[key]
        self.uncomputed.discard(block)


class PrefixPool(StackPool):
    """Free blocks as a queue. Those without an entry come back to its front, as in a stack; those
    with one go to its far end, so that what is cached lasts as long as there is anything else."""

    def __init__(self, first: int, end: int, index: PrefixIndex) -> None:
        self.size = end - first
        self._index = index
        self._queue: OrderedDict[int, None] = OrderedDict.fromkeys(range(first, end))
        self._holders: dict[int, int] = {}

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds, cached ones included."""
        return len(self._queue)

    def is_free(self, block: int) -> bool:
        """Whether nobody holds the block."""
        return block in self._queue

    def take(self) -> int:
        """The block at the front of the queue."""
        block, _ = self._queue.popitem(last=False)
        self._holders[block] = 1
        return block

    def share(self, block: int) -> None:
        """One more request holds the block; a free one leaves the queue, wherever it stands."""
        self._queue.pop(block, None)
        self._holders[block] = self._holders.get(block, 0) + 1

    def give_back(self, blocks: list[int]) -> None:
        """A table is given back, first block first. Of a sequence the tail is evicted first."""
        without_entry = []
        for block in reversed(blocks):
            self._holders[block] -= 1
            if self._holders[block]:
                continue
            del self._holders[block]
            if block in self._index:
                self._queue[block] = None
            else:
                without_entry.append(block)
        for block in reversed(without_entry):
            self._queue[block] = None
            self._queue.move_to_end(block, last=False)


class PrefixBlocks(BlockManager):
    """The tables of all requests, over a pool whose blocks can be shared and found again."""

    def __init__(self, block_size: int, num_gpu_blocks: int, record: Recorder) -> None:
        self.index = PrefixIndex()
        self.pool = PrefixPool(1, num_gpu_blocks, self.index)  # block 0 is the null block
        super().__init__(block_size, self.pool, StackPool(0, 0), record)

    def look_up(self, seq: Sequence) -> list[int]:
        """The blocks that hold the beginning of the request. Changes nothing.

        The last token is left out, since at least one must be computed to get a next one.
        """
        hits = []
        for end in range(self.block_size, seq.num_tokens, self.block_size):
            block = self.index.find(seq.block_key(end))
            if block is None:
                break
            hits.append(block)
        return hits

    def num_idle(self, hits: list[int]) -> int:
        """Of these blocks, how many nobody holds: to adopt them takes as much room as new ones."""
        return sum(map(self.pool.is_free, hits))

    def adopt(self, seq: Sequence, hits: list[int]) -> None:
        """The request's table begins with these blocks."""
        for block in hits:
            self.pool.share(block)
            self._record.unpark(block)
            if block in self.index.uncomputed:
                self._record.event(Kind.UNCOMPUTED_HIT, seq, self.block_size, block_id=block)
        seq.block_table = list(hits)
        seq.block_since = [self._record.step] * len(hits)

    def free(self, seq: Sequence) -> None:
        """The request gives up its blocks; those with an entry can still be found."""
        table = seq.block_table
        super().free(seq)
        for block in table:
            if block in self.index and self.pool.is_free(block):
                self._record.park(block)

    def grow(self, seq: Sequence, count: int = 1) -> None:
        """Append so many free blocks to the request's table; their entries are evicted."""
        start = len(seq.block_table)
        super().grow(seq, count)
        for block in seq.block_table[start:]:
            if block in self.index:
                self.index.forget(block)
                self._record.unpark(block)
                self._record.event(Kind.EVICTED, seq, block_id=block)

    def enter(self, seq: Sequence, begin: int, end: int) -> None:
        """The request is given its tokens ``begin`` to ``end``: enter the blocks they fill up."""
        size = self.block_size
        for i in range(begin // size, min(end // size, len(seq.block_table))):
            self.index.enter(seq.block_table[i], seq.block_key((i + 1) * size))

    def leave_uncomputed(self, seq: Sequence, begin: int, end: int) -> None:
        """The tokens are taken back, and the entries that were made for them stay.

        A defect of the real engine (golden/v1, surprise 16): later requests find these blocks and
        take them for computed. It is kept, and each such entry and each such hit is an event.
        """
        size = self.block_size
        for block in seq.block_table[begin // size : end // size]:
            self.index.uncomputed.add(block)
            self._record.event(Kind.UNCOMPUTED_ENTRY, seq, size, block_id=block)

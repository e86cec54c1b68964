"""The KV blocks: who holds which physical block, on the GPU and in the CPU swap space.

A table is a list of block ids in order of position. Each engine's way of choosing the next free
block is a small pool class; the verbs that fill, free and move tables are the same for all and
write every lease down.
"""

from __future__ import annotations

from core.recorder import Recorder
from core.sequence import Sequence


def blocks_for(num_tokens: int, block_size: int) -> int:
    """Blocks that hold so many tokens: the quotient rounded up."""
    return -(-num_tokens // block_size)


class StackPool:
    """Free blocks as a stack: the block given back last is handed out first.

    Both vLLM engines do this without prefix caching (golden/v0 2.10, golden/v1 8): of a table that
    is given back the last block is the next to be handed out.
    """

    def __init__(self, first: int, end: int) -> None:
        self.size = end - first
        self._free = list(range(end - 1, first - 1, -1))

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds."""
        return len(self._free)

    def take(self) -> int:
        """The next free block."""
        return self._free.pop()

    def give_back(self, blocks: list[int]) -> None:
        """A table is given back, first block first."""
        self._free.extend(blocks)


class BlockManager:
    """The tables of all requests over a GPU pool and a CPU pool, without prefix caching."""

    def __init__(self, block_size: int, gpu: StackPool, cpu: StackPool, record: Recorder) -> None:
        self.block_size = block_size
        self.gpu = gpu
        self.cpu = cpu
        self._record = record

    def grow(self, seq: Sequence, count: int = 1) -> None:
        """Append so many free blocks to the request's table. There must be as many."""
        step = self._record.step
        for _ in range(count):
            seq.block_table.append(self.gpu.take())
            seq.block_since.append(step)

    def free(self, seq: Sequence) -> None:
        """The request gives up its GPU blocks."""
        self.gpu.give_back(seq.block_table)
        self._record.lease("gpu", seq, seq.block_table, seq.block_since)
        seq.block_table, seq.block_since = [], []

    def swap_out(self, seq: Sequence) -> None:
        """Move the table to the CPU: free it on the GPU, then take as many blocks there."""
        count = len(seq.block_table)
        self.free(seq)
        seq.cpu_blocks = [self.cpu.take() for _ in range(count)]
        seq.cpu_since = [self._record.step] * count

    def swap_in(self, seq: Sequence) -> None:
        """Move the table back to the GPU. A compressed one takes as many blocks as it had."""
        count = seq.num_swapped_blocks or len(seq.cpu_blocks)
        self.free_cpu(seq)
        self.grow(seq, count)

    def free_cpu(self, seq: Sequence) -> None:
        """The request gives up its CPU blocks."""
        self.cpu.give_back(seq.cpu_blocks)
        compressed = seq.num_swapped_blocks is not None
        self._record.lease("cpu", seq, seq.cpu_blocks, seq.cpu_since, compressed)
        seq.cpu_blocks, seq.cpu_since, seq.num_swapped_blocks = [], [], None

    def compress(self, seq: Sequence, keep: int) -> None:
        """Squeeze a swapped-out table into its first ``keep`` CPU blocks; the others are free."""
        step = self._record.step
        count, blocks = len(seq.cpu_blocks), seq.cpu_blocks
        self._record.lease("cpu", seq, blocks, seq.cpu_since)
        self.cpu.give_back(blocks[keep:])
        seq.cpu_blocks, seq.cpu_since = blocks[:keep], [step] * keep
        seq.num_swapped_blocks = count

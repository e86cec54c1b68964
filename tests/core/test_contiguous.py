"""First-fit runs over the block grid."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.contiguous import ContiguousBlocks, ContiguousPool
from core.recorder import Recorder
from core.trace import Cause, Limit


def test_run_is_taken_from_the_first_hole_that_is_long_enough() -> None:
    pool = ContiguousPool(0, 10)
    first, second, third = pool.take_run(2), pool.take_run(3), pool.take_run(1)
    assert (first, second, third) == ([0, 1], [2, 3, 4], [5])
    pool.give_back(first)  # holes: 0-1, 6-9
    assert (pool.num_free, pool.longest_run) == (6, 4)
    assert pool.take_run(3) == [6, 7, 8]
    assert pool.take_run(1) == [0]
    assert pool.take_run(1) == [1]  # before the block 9 behind them


def test_run_that_is_given_back_grows_together_with_its_neighbours() -> None:
    pool = ContiguousPool(0, 6)
    runs = [pool.take_run(2) for _ in range(3)]
    pool.give_back(runs[0])
    pool.give_back(runs[2])
    assert (pool.num_free, pool.longest_run) == (4, 2)
    pool.give_back(runs[1])
    assert (pool.num_free, pool.longest_run) == (6, 6)
    assert pool.take_run(6) == [0, 1, 2, 3, 4, 5]
    assert (pool.num_free, pool.longest_run) == (0, 0)


def test_shortage_of_neighbours_is_another_one_than_of_blocks() -> None:
    blocks = ContiguousBlocks(4, 6, Recorder(""))
    runs = [blocks.pool.take_run(2) for _ in range(3)]
    blocks.pool.give_back(runs[0])
    blocks.pool.give_back(runs[2])
    assert blocks.cannot_reserve(2) is None
    assert blocks.cannot_reserve(3) == Cause(Limit.CONTIGUOUS_RUN, 3, 2)
    assert blocks.cannot_reserve(5) == Cause(Limit.GPU_BLOCKS, 5, 4)


@given(st.integers(1, 20), st.lists(st.integers(1, 6), max_size=30), st.randoms())
def test_pool_agrees_with_a_plain_grid(size: int, counts: list[int], rng: object) -> None:
    """Against a list of booleans that is searched from its beginning."""
    pool, grid, held = ContiguousPool(0, size), [True] * size, []
    for count in counts:
        starts = [i for i in range(size - count + 1) if all(grid[i : i + count])]
        if starts:
            run = pool.take_run(count)
            assert run == list(range(starts[0], starts[0] + count))
            held.append(run)
            grid[run[0] : run[-1] + 1] = [False] * count
        elif held:
            run = held.pop(rng.randrange(len(held)))  # type: ignore[attr-defined]
            pool.give_back(run)
            grid[run[0] : run[-1] + 1] = [True] * len(run)
        runs = "".join("#" if free else " " for free in grid).split()
        assert pool.num_free == sum(grid)
        assert pool.longest_run == max(map(len, runs), default=0)

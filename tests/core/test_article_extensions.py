"""The article's three extensions (section 5), which both of its schedulers take: hand-computed."""

from __future__ import annotations

from typing import Any

import pytest

from core import Trace
from core.trace import Cause, End, Kind, Limit, Outcome
from tests.conftest import (
    column,
    ids_of,
    make_requests,
    only_event,
    run,
)

BOTH = pytest.mark.parametrize("scheduler", ["article", "article_repaired"])


@BOTH
def test_priority_smaller_number_is_admitted_first_and_nobody_is_thrown_out(
        scheduler: str) -> None:
    """Section 5.1, one request at a time in one block of 8: 2 and 3 (priority 0) before 1.

    Request 4, the most urgent, comes while 2 runs. It is next, and 2 goes on.
    """
    trace = run(make_requests(4, output_len=2, priority=[5, 0, 0, -1], arrival_step=[0, 0, 0, 1]),
                scheduler=scheduler, policy="priority", block_size=8, num_gpu_blocks=1)
    assert ids_of(trace, Kind.ADMITTED) == ["2", "4", "3", "1"]
    assert column(trace, "requests", "first_scheduled_step") == [6, 0, 4, 2]


@BOTH
@pytest.mark.parametrize(("knobs", "cycles"), [
    ({}, [["2", "4", "6", "5"], ["3", "1"]]),
    ({"batch_group_size": 2}, [["2", "4"], ["6", "5"], ["3", "1"]]),
])
def test_length_order_admits_groups_of_similar_length(
        scheduler: str, knobs: dict[str, int], cycles: list[list[str]]) -> None:
    """Section 5.2: sorted by len(prompt), cut into groups of 4, one group in a cycle.

    By length the six are 2 (1), 4 (2), 6 (3), 5 (7), 3 (8), 1 (9).
    """
    trace = run(make_requests(6, prompt_len=[9, 1, 8, 2, 7, 3]), scheduler=scheduler,
                policy="length", num_gpu_blocks=40, **knobs)
    assert [ids_of(trace, Kind.ADMITTED, step) for step in range(len(cycles))] == cycles
    size = len(cycles[0])
    assert only_event(trace, Kind.REFUSED, step=0).cause == Cause(
        Limit.BATCH_CLOSED, size + 1, size)


def two_that_fill_24_blocks(scheduler: str = "article", **knobs: Any) -> Trace:
    """Two requests of 10 tokens, in 24 blocks of one token: 11 each after step 0, 12 after step 1.
    In step 2 one goes, with 12 blocks; the other ends in step 3 with 14."""
    return run(make_requests(2, prompt_len=10, output_len=4), scheduler=scheduler, block_size=1,
               num_gpu_blocks=24, num_cpu_blocks=20, **knobs)


@BOTH
def test_compression_of_a_swapped_request_halves_its_cpu_blocks(scheduler: str) -> None:
    """Section 5.3: 12 blocks are more than 10, so 6 hold them from step 2 on; it needs 12 to
    return, has 11 free in step 3, and returns in step 4."""
    plain = two_that_fill_24_blocks(scheduler)
    trace = two_that_fill_24_blocks(scheduler, compress_swapped=True)
    assert column(plain, "steps", "free_cpu_blocks")[:5] == [20, 20, 8, 8, 20]
    assert column(trace, "steps", "free_cpu_blocks")[:5] == [20, 20, 14, 14, 20]
    assert only_event(trace, Kind.COMPRESSED, step=2).num_tokens == 6
    assert only_event(trace, Kind.REFUSED, step=3).cause == Cause(Limit.GPU_BLOCKS, 12, 11)
    assert len(ids_of(trace, Kind.SWAPPED_IN, step=4)) == 1
    assert trace.end == End(Outcome.FINISHED, 6)


def test_compression_leases_say_which_blocks_are_compressed() -> None:
    """Section 5.3, in the record: 6 compressed blocks from step 2 to 4, instead of 12 plain."""
    plain = two_that_fill_24_blocks().leases.query("device == 'cpu'")
    leases = two_that_fill_24_blocks(compress_swapped=True).leases.query("device == 'cpu'")
    assert plain.compressed.tolist() == [False] * 12
    assert leases.compressed.tolist() == [True] * 6
    assert leases.position.tolist() == [0, 1, 2, 3, 4, 5]
    for frame in (plain, leases):
        assert set(zip(frame.from_step, frame.to_step, strict=True)) == {(2, 4)}


@pytest.mark.parametrize(("ratio", "kept"), [(1.2, 10), (3.0, 4), (5.0, 3), (100.0, 1)])
def test_compression_ratio_rounds_the_kept_blocks_up(ratio: float, kept: int) -> None:
    """Section 5.3 leaves the ratio open: 12 blocks become ceil(12 / ratio)."""
    trace = two_that_fill_24_blocks(compress_swapped=True, compression_ratio=ratio)
    assert trace.step_rows[2].free_cpu_blocks == 20 - kept


@pytest.mark.parametrize(("least", "free"), [(11, 14), (12, 8)])
def test_compression_is_for_requests_with_more_blocks_than_the_threshold(
        least: int, free: int) -> None:
    """Section 5.3: `if len(seq_group.blocks) > 10`; here 12 > 11, but not 12 > 12."""
    trace = two_that_fill_24_blocks(compress_swapped=True, compression_min_blocks=least)
    assert trace.step_rows[2].free_cpu_blocks == free


def test_compression_by_default_leaves_ten_blocks_alone() -> None:
    """Section 5.3: with prompts of 8 in 20 blocks, the victim of step 2 has exactly 10."""
    trace = run(make_requests(2, prompt_len=8, output_len=4), block_size=1, num_gpu_blocks=20,
                num_cpu_blocks=20, compress_swapped=True)
    assert only_event(trace, Kind.SWAPPED_OUT).num_tokens == 10
    assert ids_of(trace, Kind.COMPRESSED) == []
    assert trace.step_rows[2].free_cpu_blocks == 10

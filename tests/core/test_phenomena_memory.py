"""Requests that never fit, swap space that is used up, and fragmentation."""

from __future__ import annotations

import pytest

from core import Trace
from core.trace import Outcome
from tests.conftest import make_requests, run
from tests.core.phenomena_of import case, occurrences, preset, the_one

# -- never fits ----------------------------------------------------------------------------------


def test_never_fits_of_a_prompt_larger_than_the_usable_blocks_is_found() -> None:
    """Case 27: 13 blocks are needed, and one of the 13 is V1's own."""
    assert the_one(case("27:base"), "never_fits") == {
        "variant": "blocks", "request": "r1", "step": 1, "needed": 13, "most": 12}


def test_never_fits_of_a_request_that_outgrows_the_cache_is_found_when_it_comes_back() -> None:
    """Case 27: its prompt is 12 blocks; with its first token it would need a 13th."""
    found = the_one(case("27:prompt-exactly-usable"), "never_fits")
    assert (found["request"], found["step"], found["needed"]) == ("r1", 8, 13)


def test_never_fits_is_not_told_of_a_prompt_that_fits_after_a_while() -> None:
    assert occurrences(case("27:prompt-fits"), "never_fits") == []


def test_never_fits_of_requests_that_are_given_up_is_found() -> None:
    """Case 09: 13 of 12 blocks; with one of them reserved, 12 are too many as well."""
    ids = [dict(each.numbers) for each in occurrences(case("09:watermark-0.1"), "never_fits")]
    assert ids == [
        {"request": "r1", "step": 0, "needed": 13, "most": 12},
        {"request": "r2", "step": 0, "needed": 12, "most": 11}]


def test_never_fits_of_a_prompt_longer_than_a_step_is_told_in_tokens() -> None:
    assert the_one(preset("24"), "never_fits") == {
        "variant": "tokens", "request": "r1", "step": 0, "needed": 166, "most": 160}


def test_never_fits_of_a_request_charged_more_seats_than_there_are_is_told_in_seats() -> None:
    assert the_one(preset("09"), "never_fits") == {
        "variant": "seats", "request": "r0", "step": 33, "needed": 33, "most": 32}


def test_never_fits_of_an_uncut_prompt_over_the_budget_is_told_once_the_run_is_stuck() -> None:
    """V1 without chunks: 12 tokens in a step of 8, for ever."""
    trace = run(make_requests(1, prompt_len=12), scheduler="vllm_v1", max_num_batched_tokens=8)
    assert trace.end.outcome is Outcome.STUCK
    assert the_one(trace, "never_fits") == {
        "variant": "tokens", "request": "1", "step": 0, "needed": 12, "most": 8}


def test_never_fits_of_a_request_that_grew_into_the_reserve_and_may_not_return_is_found() -> None:
    """V0, 2 of 10 blocks of 4 are reserved. A running request may take them, but with 10 blocks
    its next decode finds none free: it swaps itself out, and asks for 10 of 8 to come back."""
    trace = run(make_requests(1, prompt_len=30, output_len=20), scheduler="vllm_v0",
                preemption_mode="swap", watermark=0.2, num_gpu_blocks=10, num_cpu_blocks=16)
    assert trace.end.outcome is Outcome.STUCK
    found = the_one(trace, "never_fits")
    assert (found["variant"], found["needed"], found["most"]) == ("blocks", 10, 8)


def test_never_fits_is_not_told_of_a_request_that_is_refused_more_than_is_free_just_now() -> None:
    trace = run(make_requests(2, prompt_len=20), scheduler="vllm_v1")
    assert "refused" in {event.kind.value for event in trace.event_rows}
    assert occurrences(trace, "never_fits") == []


# -- swap space ----------------------------------------------------------------------------------

def test_swap_exhausted_tells_of_what_the_engine_died() -> None:
    """Case 02: in step 5 r3 must go, V0 asks for 5 CPU blocks, and there are 3."""
    assert the_one(case("02:base"), "swap_exhausted") == {
        "variant": "died", "request": "r3", "step": 5, "needed": 5, "available": 3, "total": 3}


def test_swap_exhausted_is_not_told_where_there_is_room() -> None:
    trace = case("02:cpu-16")
    assert sum(row.num_swaps for row in trace.request_rows) > 0
    assert occurrences(trace, "swap_exhausted") == []


def two_of_which_one_is_swapped(num_cpu_blocks: int) -> Trace:
    """Two requests with 1 prompt token, in a memory of 2 blocks of 4. In step 3 each wants another
    block: the second request leaves with its one block, and is back when the first has ended."""
    return run(make_requests(2, prompt_len=1, output_len=6), scheduler="article_repaired",
               num_gpu_blocks=2, num_cpu_blocks=num_cpu_blocks)


def test_swap_exhausted_is_told_while_every_cpu_block_is_taken() -> None:
    trace = two_of_which_one_is_swapped(num_cpu_blocks=1)
    taken = [step for step, row in enumerate(trace.step_rows) if not row.free_cpu_blocks]
    assert the_one(trace, "swap_exhausted") == {
        "variant": "full", "step": taken[0], "total": 1, "steps": len(taken)}
    assert (taken[0], trace.end.outcome) == (3, Outcome.FINISHED)


def test_swap_exhausted_is_not_told_while_a_cpu_block_is_left() -> None:
    assert occurrences(two_of_which_one_is_swapped(num_cpu_blocks=2), "swap_exhausted") == []


def test_swap_exhausted_is_not_told_of_an_engine_without_swap_space() -> None:
    trace = run(make_requests(3, prompt_len=12), scheduler="vllm_v1")
    assert {row.free_cpu_blocks for row in trace.step_rows} == {0}
    assert occurrences(trace, "swap_exhausted") == []


# -- fragmentation -------------------------------------------------------------------------------

@pytest.mark.parametrize(("variant", "size", "empty"), [("base", 16, 96), ("block-64", 64, 176)])
def test_fragmentation_counts_the_empty_places_in_last_blocks(variant: str, size: int,
                                                              empty: int) -> None:
    """Case 44: requests of 20 tokens take 256 places: 8 of them in blocks of 16, 4 in those of
    64."""
    found = the_one(case(f"44:{variant}"), "fragmentation")
    assert (found["step"], found["size"], found["empty"], found["held"]) == (0, size, empty, 256)


def test_fragmentation_is_not_told_where_blocks_are_small() -> None:
    """Case 44: 12 requests in blocks of 4 leave nothing empty."""
    assert occurrences(case("44:block-4"), "fragmentation") == []


def test_fragmentation_is_not_told_where_nobody_lacks_room() -> None:
    trace = run(make_requests(2, prompt_len=1, output_len=2), scheduler="vllm_v1", block_size=16)
    assert occurrences(trace, "fragmentation") == []


def test_fragmentation_into_pieces_is_told_of_a_run_of_blocks_that_is_not_there() -> None:
    """Reserved are 4, 2 and 3 of 9 blocks. From step 4 on the outer ones are free, 7 in all, and
    the last request needs 5 side by side, until the one in the middle ends with step 6."""
    trace = run(make_requests(4, prompt_len=[12, 1, 8, 12], output_len=[4, 7, 4, 8]),
                scheduler="orca_oracle", num_gpu_blocks=9)
    found = [each for each in occurrences(trace, "fragmentation") if each.variant == "pieces"]
    assert [dict(each.numbers) for each in found] == [
        {"request": "4", "step": 4, "needed": 5, "available": 4, "free": 7, "steps": 3}]

"""Thrashing, livelock and wasted work."""

from __future__ import annotations

import pytest

from core import Trace
from core.trace import Kind, Outcome
from tests.conftest import make_requests, only_event, run
from tests.core.phenomena_of import case, occurrences, preset, the_one

# -- thrashing -----------------------------------------------------------------------------------


def test_thrashing_of_a_victim_let_in_by_its_first_chunk_is_found() -> None:
    """Case 25: r3 is preempted in step 36, let in again in the next, and so on: eight times."""
    found = the_one(case("25:base"), "thrashing")
    assert (found["request"], found["step"], found["times"], found["variant"]) == (
        "r3", 36, 8, "")
    trace = case("25:base")
    steps = [e.step for e in trace.event_rows if e.kind is Kind.PREEMPTED]
    assert found["steps"] == steps[7] - 36 + 1
    again = sum(e.num_tokens for e in trace.event_rows
                if e.kind is Kind.PREFILLED and e.request == 3 and 36 < e.step < steps[7])
    assert found["tokens"] == again


def test_thrashing_is_not_told_where_the_victim_waits_until_all_of_it_fits() -> None:
    assert occurrences(case("25:full-isl"), "thrashing") == []


def test_thrashing_by_swapping_counts_the_blocks_that_move() -> None:
    """Case 04: r0 with its 16 blocks goes in step 42 and then in every other one, until 72."""
    assert the_one(case("04:base"), "thrashing") == {
        "variant": "swapped", "request": "r0", "step": 42, "times": 16, "steps": 31, "tokens": 0,
        "blocks": 256}


def test_thrashing_is_not_told_of_two_victims_that_go_twice_each() -> None:
    trace = run(make_requests(2, prompt_len=1, output_len=6), scheduler="vllm_v1",
                num_gpu_blocks=4, block_size=2)
    assert [e.request for e in trace.event_rows if e.kind is Kind.PREEMPTED] == [1]
    assert occurrences(trace, "thrashing") == []


# -- livelock ------------------------------------------------------------------------------------

def test_livelock_in_which_all_are_thrown_out_as_soon_as_they_are_let_in_is_found() -> None:
    """Preset 10: four requests in each of 50 steps."""
    found = the_one(preset("10"), "livelock")
    assert (found["step"], found["steps"], found["losses"]) == (0, 50, 200)


def test_livelock_of_a_prompt_that_outgrows_the_cache_chunk_by_chunk_is_found() -> None:
    """V1 lets it in by its first chunk of 8 tokens, 2 blocks. 7 blocks are 28 tokens and it has
    40, so in the fourth step it is its own victim, and in the fifth it begins anew."""
    trace = run(make_requests(1, prompt_len=40), scheduler="vllm_v1", max_num_batched_tokens=8,
                enable_chunked_prefill=True, scheduler_reserve_full_isl=False, max_steps=100)
    assert trace.end.outcome is Outcome.STEP_LIMIT
    losses = [e.step for e in trace.event_rows if e.kind is Kind.PREEMPTED]
    assert losses[:3] == [3, 7, 11]
    assert the_one(trace, "livelock") == {
        "variant": "", "request": "1", "step": 3, "steps": 97, "losses": len(losses)}


def test_livelock_is_not_told_of_a_long_prompt_that_nobody_disturbs() -> None:
    trace = run(make_requests(1, prompt_len=60, output_len=2), scheduler="vllm_v1",
                max_num_batched_tokens=2, num_gpu_blocks=64, enable_chunked_prefill=True)
    assert trace.num_steps > 30
    assert occurrences(trace, "livelock") == []


def test_livelock_is_not_told_where_somebody_gets_a_token_now_and_then() -> None:
    """Case 04 swaps in every other step, and makes a token in the one between."""
    assert occurrences(case("04:base"), "livelock") == []


def test_livelock_is_not_told_of_a_queue_that_waits_for_ever() -> None:
    """Case 27, prompt-exactly-usable: r1 is preempted once, in step 7, and never fits again."""
    trace = case("27:prompt-exactly-usable")
    assert (only_event(trace, Kind.PREEMPTED).step, trace.end.outcome) == (7, Outcome.STUCK)
    assert occurrences(trace, "livelock") == []


# -- wasted work ---------------------------------------------------------------------------------

def needed(trace: Trace) -> int:
    """Tokens that go through the model if nothing is lost: all but each request's last."""
    return sum(r.prompt_len + r.output_len - 1 for r in trace.scenario.requests)


@pytest.mark.parametrize("name", ["01:base", "23:base", "25:base", "25:full-isl", "35:base"])
def test_wasted_work_is_what_was_computed_beyond_what_was_needed(name: str) -> None:
    """Case 01: 1135 tokens though 395 would do; case 25: 2611 against 1283."""
    trace = case(name)
    found = the_one(trace, "wasted_work")
    assert found["tokens"] == found["computed"] - needed(trace)
    assert found["computed"] == sum(row.num_computed_tokens for row in trace.request_rows)


def test_wasted_work_names_the_request_that_wasted_most_and_when_it_began() -> None:
    """Case 01: r2 is preempted in step 22 and let in again in step 23."""
    found = the_one(case("01:base"), "wasted_work")
    assert (found["computed"], found["tokens"], found["request"], found["step"]) == (
        1135, 740, "r2", 23)


def test_wasted_work_is_not_told_where_victims_are_swapped() -> None:
    """Case 35, variant swap: 14 swap-outs, and nothing is computed twice."""
    assert occurrences(case("35:swap"), "wasted_work") == []


def test_wasted_work_is_not_told_if_it_is_less_than_a_twentieth() -> None:
    """Two blocks of 64. In step 64 the first needs a second one, and the other, let in three steps
    before, goes with 3 tokens; 130 tokens are computed in all."""
    trace = run(make_requests(2, prompt_len=1, output_len=[120, 10], arrival_step=[0, 61]),
                scheduler="vllm_v1", block_size=64, num_gpu_blocks=3, max_model_len=128)
    computed = sum(row.num_computed_tokens for row in trace.request_rows)
    assert (computed, computed - needed(trace)) == (133, 3)
    assert occurrences(trace, "wasted_work") == []

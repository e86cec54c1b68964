"""Head-of-line blocking, starvation, priority inversion and decode stalls."""

from __future__ import annotations

from typing import Any

import pytest

from core import Trace
from core.trace import Kind, Limit
from tests.conftest import make_requests, only_event, run
from tests.core.phenomena_of import case, occurrences, preset, the_one

# -- head-of-line blocking -----------------------------------------------------------------------


def test_head_of_line_request_that_holds_up_eight_smaller_ones_is_found() -> None:
    """Case 11: B needs 16 blocks, 14 are free; it and the eight C wait from step 1 to step 31."""
    assert the_one(case("11:base"), "head_of_line") == {
        "variant": "blocks", "request": "B", "step": 1, "needed": 16, "available": 14,
        "steps": 31, "fitting": 8}


def test_head_of_line_is_not_told_where_the_large_request_is_missing() -> None:
    assert occurrences(case("11:without-B"), "head_of_line") == []


def test_head_of_line_request_that_never_fits_holds_up_the_one_behind_it_for_ever() -> None:
    """Case 27: r1 needs 13 of 12 blocks, and r2 with its 2 blocks waits behind it to the end."""
    found = the_one(case("27:base"), "head_of_line")
    assert (found["request"], found["step"], found["fitting"]) == ("r1", 2, 1)
    assert found["step"] + found["steps"] == case("27:base").num_steps


def three_behind_each_other(**fields: Any) -> Trace:
    """Usable are 8 blocks of 4: the first takes 6, and the second needs 4."""
    return run(make_requests(3, **{"prompt_len": [21, 16, 4], "output_len": [4, 4, 4], **fields}),
               scheduler="vllm_v1", num_gpu_blocks=9, enable_chunked_prefill=True)


def test_head_of_line_is_told_if_the_one_behind_would_fit_for_three_steps() -> None:
    """Steps 0, 1, 2, 3: the first runs. 2 blocks are free; the third needs 1."""
    found = the_one(three_behind_each_other(), "head_of_line")
    assert (found["request"], found["step"], found["steps"], found["fitting"]) == ("2", 0, 4, 1)


@pytest.mark.parametrize("fields", [
    {"output_len": [2, 4, 4]},  # over after two steps
    {"prompt_len": [21, 16, 16]},  # the one behind is as large
    {"arrival_step": [0, 0, 4]},  # the one behind comes when the first is gone
])
def test_head_of_line_is_not_told_of_an_ordinary_wait(fields: dict[str, Any]) -> None:
    assert occurrences(three_behind_each_other(**fields), "head_of_line") == []


def test_head_of_line_prompt_that_does_not_fit_the_budget_holds_up_a_shorter_one() -> None:
    """V1 without chunks: 8 tokens a step, 5 of them for those who run. 8 are wanted, 3 are left,
    and the one behind wants 2."""
    trace = run(make_requests(7, prompt_len=[1, 1, 1, 1, 1, 8, 2], output_len=[5] * 7),
                scheduler="vllm_v1", num_gpu_blocks=64, max_num_batched_tokens=8)
    assert the_one(trace, "head_of_line") == {
        "variant": "tokens", "request": "6", "step": 0, "needed": 8, "available": 3,
        "steps": 5, "fitting": 1}


def test_head_of_line_is_not_told_where_seats_are_short_for_all() -> None:
    trace = run(make_requests(3, prompt_len=[4, 8, 2], output_len=9), scheduler="vllm_v1",
                num_gpu_blocks=64, max_num_seqs=1)
    assert occurrences(trace, "head_of_line") == []


def test_head_of_line_is_not_told_where_the_one_behind_would_have_no_seat() -> None:
    """V0 looks at the blocks first: the second needs 4 of the 2 that are free. But the one seat is
    taken, so the third could not come either."""
    trace = run(make_requests(3, prompt_len=[24, 16, 4]), scheduler="vllm_v0", max_num_seqs=1)
    refused = only_event(trace, Kind.REFUSED, step=1).cause
    assert refused is not None
    assert refused.limit is Limit.GPU_BLOCKS
    assert occurrences(trace, "head_of_line") == []


def test_head_of_line_is_not_told_of_steps_that_preempt() -> None:
    """V0, 17 blocks of 1. Three requests of 4 tokens leave 5 blocks, 2 after step 1, and 0 in step
    2, where the third has to go. In steps 0 to 2 the fourth, of 10 tokens, holds up the fifth."""
    trace = run(make_requests(5, prompt_len=[4, 4, 4, 10, 1], output_len=3), scheduler="vllm_v0",
                block_size=1, num_gpu_blocks=17)
    assert only_event(trace, Kind.PREEMPTED).step == 2
    assert [e.step for e in trace.event_rows
            if e.kind is Kind.REFUSED and e.request == 3][:3] == [0, 1, 2]
    assert occurrences(trace, "head_of_line") == []


# -- starvation ----------------------------------------------------------------------------------

def late_and_urgent(policy: str) -> Trace:
    """One seat. The second request comes in step 1, and three urgent ones come after it, each of
    which runs for 10 steps."""
    return run(make_requests(5, output_len=10, arrival_step=[0, 1, 2, 3, 4],
                             priority=[5, 5, 0, 0, 0]),
               scheduler="article_repaired", policy=policy, max_num_seqs=1)


def test_starvation_of_a_request_that_urgent_ones_overtake_is_found() -> None:
    """It waits from step 1 until those that came in steps 0, 2, 3 and 4 are done: 39 steps."""
    assert the_one(late_and_urgent("priority"), "starvation") == {
        "variant": "", "request": "2", "step": 1, "steps": 39, "overtakers": 3}


def test_starvation_is_not_told_of_a_long_queue_in_which_nobody_overtakes() -> None:
    trace = late_and_urgent("fcfs")
    assert max(s.to_step - s.from_step for s in trace.span_rows if s.state == "waiting") == 36
    assert occurrences(trace, "starvation") == []


# -- priority inversion --------------------------------------------------------------------------

def test_priority_inversion_of_an_urgent_request_behind_a_running_one_is_found() -> None:
    """The urgent ones come in steps 2, 3, 4, and the less urgent one runs until step 9."""
    assert the_one(late_and_urgent("priority"), "priority_inversion") == {
        "variant": "", "request": "3", "step": 2, "steps": 8, "priority": 0, "other": "1",
        "other_priority": 5}


def test_priority_inversion_is_measured_at_the_least_urgent_one_that_runs() -> None:
    """Two seats, with priorities 0 and 5 on them; one with 3 comes in step 1 and waits to the end
    of both."""
    trace = run(make_requests(3, output_len=10, priority=[0, 5, 3], arrival_step=[0, 0, 1]),
                scheduler="article_repaired", policy="priority", max_num_seqs=2)
    found = the_one(trace, "priority_inversion")
    assert (found["request"], found["other"], found["step"], found["steps"]) == ("3", "2", 1, 9)


def test_priority_inversion_is_not_told_under_first_come_first_served() -> None:
    assert occurrences(late_and_urgent("fcfs"), "priority_inversion") == []


def test_priority_inversion_is_not_told_where_the_less_urgent_are_pushed_out() -> None:
    """Case 30: V0 needs one step to react, and another until the urgent one is let in."""
    trace = case("30:base")
    assert trace.scenario.config.policy == "priority"
    assert occurrences(trace, "priority_inversion") == []


# -- decode stalls -------------------------------------------------------------------------------

def test_decode_stall_by_a_long_prompt_is_found() -> None:
    """Case 13: step 5 holds the 768 tokens of r4 and no decode of r0 to r3."""
    assert the_one(case("13:base"), "decode_stall") == {
        "variant": "", "request": "r4", "step": 5, "steps": 1, "tokens": 768, "other": "r4",
        "paused": 4}


def test_decode_stall_by_a_stream_of_prompts_is_one_stall() -> None:
    """Case 14: in steps 1 to 20 a prompt of 32 tokens arrives and no decode runs."""
    assert the_one(case("14:base"), "decode_stall") == {
        "variant": "many", "request": "r1", "step": 1, "steps": 20, "tokens": 640, "other": "r1",
        "paused": 20}


@pytest.mark.parametrize("name", ["13:chunked-64", "14:chunked-128"])
def test_decode_stall_is_not_told_where_the_prompt_comes_in_chunks(name: str) -> None:
    assert occurrences(case(name), "decode_stall") == []


@pytest.mark.parametrize(("prompt_len", "count"), [(63, 0), (64, 1)])
def test_decode_stall_of_one_step_is_told_from_64_tokens_on(prompt_len: int, count: int) -> None:
    trace = run(make_requests(2, prompt_len=[4, prompt_len], arrival_step=[0, 1]),
                scheduler="vllm_v0", num_gpu_blocks=64)
    assert len(occurrences(trace, "decode_stall")) == count


def test_decode_stall_of_a_preset_is_found_and_that_of_its_chunked_twin_is_not() -> None:
    assert [each.step for each in occurrences(preset("25"), "decode_stall")] == [5]
    assert occurrences(preset("26"), "decode_stall") == []

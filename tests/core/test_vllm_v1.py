"""vLLM's V1 scheduler on scenarios that can be worked out by hand. Surprises are golden/v1's.

Blocks hold 4 tokens unless said otherwise; block 0 is never used, so N + 1 blocks are N usable.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from core import Trace
from core.schedulers.vllm_v1_checks import frontend_refusals
from core.trace import Cause, End, Kind, Limit, Outcome
from tests.conftest import ids_of, make_requests, only_event, queue_after, run


def v1(requests: Iterable[dict[str, Any]], **knobs: Any) -> Trace:
    return run(requests, scheduler="vllm_v1", **{"enable_chunked_prefill": True, **knobs})


def tokens_given(trace: Trace, step: int) -> dict[str | None, int]:
    """Prompt tokens that requests got in this step."""
    return {trace.request_id(e.request): e.num_tokens for e in trace.event_rows
            if e.step == step and e.kind is Kind.PREFILLED}


def test_v1_decode_and_prompt_share_one_budget_the_running_first() -> None:
    trace = v1(make_requests(2, prompt_len=[4, 20], arrival_step=[0, 1]),
               max_num_batched_tokens=8)
    assert queue_after(trace, "scheduled", 1) == ["1", "2"]
    assert tokens_given(trace, 1) == {"2": 7}  # and "1" its one
    assert trace.step_rows[1].num_batched_tokens == 8


def test_v1_preempting_step_lets_nobody_in_though_a_block_is_free() -> None:
    # surprise 2: two with 2 full blocks each in 4; "1" needs a third, "2" has to go, "3" needs one
    trace = v1(make_requests(3, prompt_len=[8, 8, 4], arrival_step=[0, 0, 1]), num_gpu_blocks=5)
    assert only_event(trace, Kind.PREEMPTED, 1).cause == Cause(Limit.GPU_BLOCKS, 1, 0, "1")
    held = only_event(trace, Kind.HELD, 1)
    assert (held.queue, held.cause) == ("waiting", Cause(Limit.PREEMPTING_STEP, other="2"))
    assert trace.step_rows[1].free_gpu_blocks == 1
    assert ids_of(trace, Kind.ADMITTED, 1) == []


def test_v1_head_that_does_not_fit_blocks_a_smaller_one_behind_it() -> None:
    # as before: in step 2 "2" has 9 tokens and needs 3 blocks; "3" would fit into the free one
    trace = v1(make_requests(3, prompt_len=[8, 8, 4], arrival_step=[0, 0, 1]), num_gpu_blocks=5)
    assert queue_after(trace, "waiting", 2) == ["2", "3"]
    assert ids_of(trace, Kind.REFUSED, 2) == ["2"]
    assert only_event(trace, Kind.REFUSED, 2).cause == Cause(Limit.GPU_BLOCKS, 3, 1)


def test_v1_request_alone_preempts_itself_and_is_stuck() -> None:
    # surprise 3: 8 tokens fill both blocks, the ninth finds none; with 9 it never comes back
    trace = v1(make_requests(1, prompt_len=8), num_gpu_blocks=3)
    assert only_event(trace, Kind.PREEMPTED).cause == Cause(Limit.GPU_BLOCKS, 1, 0, "1")
    assert trace.step_rows[1].num_scheduled == 0
    assert trace.end == End(Outcome.STUCK, 51, Cause(Limit.GPU_BLOCKS, 3, 2), 0)


def test_v1_last_of_several_victims_stands_first_in_waiting() -> None:
    # 4 usable blocks of 4: "1" holds 2, "2" and "3" one each. In step 1 "1" needs a third: "3"
    # goes; "1" took its block, so "2" finds none for its second: it goes itself
    trace = v1(make_requests(3, prompt_len=[8, 4, 4]), num_gpu_blocks=5)
    assert ids_of(trace, Kind.PREEMPTED, 1) == ["3", "2"]
    assert queue_after(trace, "waiting", 1) == ["2", "3"]


def test_v1_urgent_request_waits_while_less_urgent_ones_run() -> None:
    # surprise 5: "1" fills both blocks until its third token in step 2
    trace = v1(make_requests(2, prompt_len=[6, 4], output_len=[3, 1], priority=[5, 0],
                             arrival_step=[0, 1]), num_gpu_blocks=3, policy="priority")
    assert only_event(trace, Kind.REFUSED, 1).cause == Cause(Limit.GPU_BLOCKS, 1, 0)
    assert ids_of(trace, Kind.PREEMPTED) == []
    assert ids_of(trace, Kind.ADMITTED, 3) == ["2"]


def test_v1_priority_decides_who_is_looked_at_first() -> None:
    trace = v1(make_requests(3, priority=[1, 2, 0]), policy="priority", max_num_seqs=1)
    assert queue_after(trace, "running", 0) == ["3"]
    assert queue_after(trace, "waiting", 0) == ["1", "2"]


def test_v1_tokens_of_a_less_urgent_request_are_taken_back() -> None:
    # surprise 6: each holds 2 of 4 blocks. In step 2 "1" decodes within its second one; then "2"
    # needs a third
    trace = v1(make_requests(2, prompt_len=[5, 8], priority=[1, 0], arrival_step=[0, 1]),
               num_gpu_blocks=5, policy="priority")
    cause = Cause(Limit.GPU_BLOCKS, 1, 0, "2")
    taken, preempted = only_event(trace, Kind.TAKEN_BACK), only_event(trace, Kind.PREEMPTED)
    assert (taken.step, taken.request, taken.num_tokens, taken.cause) == (2, 0, 1, cause)
    assert (preempted.step, preempted.request, preempted.cause) == (2, 0, cause)
    assert queue_after(trace, "scheduled", 2) == ["2"]
    assert trace.step_rows[2].num_batched_tokens == 1
    assert [row.num_output_tokens for row in trace.request_rows] == [4, 4]


def test_v1_prompt_tokens_taken_back_are_not_counted_as_computed() -> None:
    # "1" gets 8, 4 and 4 of its 20 tokens, which fills 5 blocks with the one of "2". Then "2"
    # needs a second one, and the last 4 are taken back; all 20 are computed again
    trace = v1(make_requests(2, prompt_len=[20, 4], priority=[1, 0], output_len=[1, 2],
                             arrival_step=[0, 1]),
               num_gpu_blocks=6, policy="priority", max_num_batched_tokens=8,
               long_prefill_token_threshold=4)
    assert only_event(trace, Kind.TAKEN_BACK).num_tokens == 4
    assert trace.step_rows[2].num_prefill_tokens == 0
    assert trace.request_rows[0].num_computed_tokens == 8 + 4 + 20


def test_v1_threshold_is_lifted_for_a_request_that_is_alone() -> None:
    # surprise 11: alone in step 0 "1" gets the whole budget, in step 1 both get 3
    trace = v1(make_requests(2, prompt_len=[20, 8], arrival_step=[0, 1]),
               max_num_batched_tokens=8, long_prefill_token_threshold=3)
    assert tokens_given(trace, 0) == {"1": 8}
    assert tokens_given(trace, 1) == {"1": 3, "2": 3}


def test_v1_adaptive_threshold_shares_the_budget_among_all() -> None:
    trace = v1(make_requests(2, prompt_len=[20, 8]), max_num_batched_tokens=8,
               long_prefill_token_threshold=3, long_prefill_token_threshold_adaptive=True)
    assert tokens_given(trace, 0) == {"1": 4, "2": 4}


def test_v1_watermark_keeps_newcomers_out_and_lets_the_running_grow() -> None:
    # surprise 12: 3 of 10 are kept. "1" comes in alone and takes 6, and a seventh in step 1
    trace = v1(make_requests(2, prompt_len=[24, 4], arrival_step=[0, 1]), num_gpu_blocks=10,
               watermark=0.3)
    assert trace.step_rows[1].free_gpu_blocks == 2
    assert only_event(trace, Kind.REFUSED, 1).cause == Cause(Limit.WATERMARK, 1, 0)


def test_v1_whole_length_must_fit_though_the_chunk_would() -> None:
    # "1" takes 2 of 4 blocks and 8 of 12 tokens; the chunk of "2" needs 1 block, all of it 3
    pair = make_requests(2, prompt_len=[8, 12])
    refused = v1(pair, num_gpu_blocks=5, max_num_batched_tokens=12)
    assert only_event(refused, Kind.REFUSED, 0).cause == Cause(Limit.FULL_ISL, 3, 2)
    let_in = v1(pair, num_gpu_blocks=5, max_num_batched_tokens=12,
                scheduler_reserve_full_isl=False)
    assert tokens_given(let_in, 0) == {"1": 8, "2": 4}


@pytest.mark.parametrize(("knobs", "cause"), [
    ({"max_num_batched_tokens": 8}, Cause(Limit.TOKEN_BUDGET, 1, 0)),
    ({"max_num_scheduled_tokens": 8}, Cause(Limit.SCHEDULED_TOKENS, 1, 0)),
    ({"max_num_scheduled_tokens": 99, "max_num_batched_tokens": 8},
     Cause(Limit.TOKEN_BUDGET, 1, 0)),
    ({"max_num_seqs": 1}, Cause(Limit.SEQ_BUDGET, 1, 0)),
    ({"max_num_active_seqs": 1}, Cause(Limit.ACTIVE_SEQS, 1, 0)),
    ({"enable_chunked_prefill": False, "max_num_batched_tokens": 10},
     Cause(Limit.CHUNKED_PREFILL, 4, 2)),
    ({"num_gpu_blocks": 3}, Cause(Limit.GPU_BLOCKS, 1, 0)),
])
def test_v1_newcomer_is_refused_by_the_knob_that_binds(knobs: dict[str, Any],
                                                       cause: Cause) -> None:
    trace = v1(make_requests(2, prompt_len=[8, 4]), **knobs)
    refused = only_event(trace, Kind.REFUSED, 0)
    assert (refused.request, refused.queue, refused.cause) == (1, "waiting", cause)


def test_v1_prefill_interval_holds_prompts_and_a_decode_can_miss_the_budget() -> None:
    # "2" gets 3 tokens in step 1 and is held in 2 and 3, while "3" (one token) may come in.
    # In step 4 "1" takes 1, "2" the other 3, and nothing is left for "3"
    trace = v1(make_requests(3, prompt_len=[1, 20, 1], output_len=9, arrival_step=[0, 1, 2]),
               max_num_batched_tokens=4, prefill_schedule_interval=3)
    for step, since in ((2, 1), (3, 2)):
        held = only_event(trace, Kind.REFUSED, step)
        assert (held.request, held.queue) == (1, "running")
        assert held.cause == Cause(Limit.PREFILL_INTERVAL, 3, since)
    assert ids_of(trace, Kind.ADMITTED, 2) == ["3"]
    late = only_event(trace, Kind.REFUSED, 4)
    assert (late.request, late.queue, late.cause) == (2, "running",
                                                      Cause(Limit.TOKEN_BUDGET, 1, 0))


def test_v1_prompt_over_max_model_len_sits_in_running_and_is_blamed() -> None:
    # computed up to 7 of 8 it holds both blocks for ever; "2" behind it is not to blame
    requests = make_requests(2, prompt_len=[10, 4])
    knobs = {"num_gpu_blocks": 3, "max_model_len": 8, "max_num_batched_tokens": 4}
    trace = v1(requests, **knobs)
    assert trace.end == End(Outcome.STUCK, 52, Cause(Limit.MODEL_LEN, 10, 7), 0)
    assert queue_after(trace, "running", 51) == ["1"]
    assert frontend_refusals(trace.scenario) == {"1": Cause(Limit.MODEL_LEN, 11, 8)}

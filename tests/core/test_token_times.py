"""When tokens came and what was in the cache: by hand, and against the simulator's own counts."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from core import Scenario, simulate
from core.token_times import served_steps, token_times
from core.trace import State
from tests.conftest import make_requests, queue_after, run, two_that_outgrow_their_blocks
from tests.strategies import scenarios


def test_tokens_of_a_prompt_in_chunks_begin_with_its_last_chunk() -> None:
    # 10 tokens at 4 a step: 4, 4, 2 and the first token, then two more
    trace = run(make_requests(1, prompt_len=10, output_len=3), scheduler="vllm_v1",
                max_num_batched_tokens=4, enable_chunked_prefill=True)
    times = token_times(trace)
    assert times.of(0).tolist() == [2, 3, 4]
    assert times.kv_tokens.tolist() == [4, 8, 10, 11, 12]
    assert times.num_recomputed.tolist() == [0]
    assert served_steps(trace)[1].tolist() == [0, 1, 2, 3, 4]


def test_tokens_after_a_recompute_go_on_and_what_was_lost_is_counted_once() -> None:
    # "2" loses 3 cached tokens in step 3, computes 4 in step 5 with its fourth token
    trace = two_that_outgrow_their_blocks("article_repaired", preemption_mode="recompute")
    times = token_times(trace)
    assert times.of(0).tolist() == [0, 1, 2, 3, 4]
    assert times.of(1).tolist() == [0, 1, 2, 5, 6]
    assert times.num_recomputed.tolist() == [0, 3]
    assert times.kv_tokens.tolist() == [2, 4, 6, 4, 5, 4, 5]
    assert times.given_up == [(0, 5, 5), (1, 3, 3), (1, 7, 5)]


def test_tokens_after_a_swap_go_on_and_nothing_is_computed_again() -> None:
    trace = two_that_outgrow_their_blocks("article_repaired", preemption_mode="swap")
    times = token_times(trace)
    assert times.of(1).tolist() == [0, 1, 2, 5, 6]
    assert times.num_recomputed.tolist() == [0, 0]
    assert times.kv_tokens.tolist() == [2, 4, 6, 4, 5, 4, 5]


def test_tokens_found_in_the_prefix_cache_are_not_recomputed() -> None:
    # "1" grows into a full memory; "2" goes with its 8 prompt tokens, which it finds again
    requests = make_requests(2, prompt_len=[8, 8], output_len=[8, 8])
    knobs = {"scheduler": "vllm_v1", "num_gpu_blocks": 6, "enable_chunked_prefill": True}
    plain = token_times(run(requests, **knobs))
    caching = token_times(run(requests, enable_prefix_caching=True, **knobs))
    assert plain.num_recomputed.sum() > caching.num_recomputed.sum()


def test_tokens_of_a_run_without_steps_are_none() -> None:
    times = token_times(run([]))
    assert times.steps.tolist() == times.kv_tokens.tolist() == []


@settings(max_examples=150, deadline=None)
@given(scenarios())
def test_tokens_agree_with_what_the_simulator_counted(scenario: Scenario) -> None:
    trace = simulate(scenario)
    times = token_times(trace)
    for index, row in enumerate(trace.request_rows):
        own = times.of(index)
        assert len(own) == row.num_output_tokens
        assert (np.diff(own) > 0).all()
        assert (own[0] if len(own) else None) == row.first_token_step
        if row.state is State.FINISHED:
            assert own[-1] == row.end_step
        if row.state is State.FINISHED and not row.num_cached_tokens and not row.num_swaps:
            once = trace.scenario.requests[index].prompt_len + len(own) - 1
            assert row.num_computed_tokens == once + times.num_recomputed[index]
    first, steps = served_steps(trace)
    for step in range(trace.num_steps):
        served = {trace.request_id(i) for i in range(len(first) - 1)
                  if step in steps[first[i] : first[i + 1]]}
        assert served == set(queue_after(trace, "scheduled", step))

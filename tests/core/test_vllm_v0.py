"""vLLM's classic scheduler, worked out by hand: who goes, who has to wait, and why.

Numbers in the docstrings are sections of golden/v0, "surprise" its part 4. Blocks hold 4 tokens.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from core import Trace
from core.schedulers import schedulers
from core.trace import Cause, End, Kind, Limit, Outcome
from tests.conftest import (
    column,
    ids_of,
    make_requests,
    only_event,
    queue_after,
    two_that_outgrow_their_blocks,
)
from tests.core.v0_runs import causes, run_v0

# -- running: who goes when a block is lacking ---------------------------------------------------

def test_decode_with_room_in_its_block_preempts_the_last_one_for_a_free_block() -> None:
    """Surprise 1. Both hold one token in a block of four, and no third block exists."""
    trace = two_that_outgrow_their_blocks("vllm_v0")
    assert causes(trace, Kind.PREEMPTED)[0] == (1, "2", Cause(Limit.SPARE_BLOCK, 1, 0, "1"))
    assert ids_of(trace, Kind.REFUSED, step=1) == []


def test_preempted_by_recompute_is_admitted_at_once_and_preempted_again() -> None:
    """Surprise 5: its prompt fits, the decode after it does not; so both get a token in every
    other step, until the first ends with its fifth in step 7."""
    trace = two_that_outgrow_their_blocks("vllm_v0")
    assert [step for step, *_ in causes(trace, Kind.PREEMPTED)] == [1, 3, 5, 7]
    assert [e.step for e in trace.event_rows if e.kind is Kind.ADMITTED and e.request == 1] == [
        0, 2, 4, 6, 8]


def test_decode_alone_on_a_full_cache_is_its_own_victim_and_then_too_large() -> None:
    """2.8.3 and 2.7.4: 8 tokens fill both blocks, with the next one it needs a third."""
    trace = run_v0(make_requests(1, prompt_len=8), num_gpu_blocks=2)
    assert causes(trace, Kind.PREEMPTED) == [(1, "1", Cause(Limit.GPU_BLOCKS, 1, 0, "1"))]
    assert causes(trace, Kind.IGNORED) == [(2, "1", Cause(Limit.GPU_BLOCKS, 3, 2))]
    assert column(trace, "requests", "num_output_tokens") == [1]


def test_victims_line_in_the_source_is_the_one_with_the_victim_rule() -> None:
    trace = two_that_outgrow_their_blocks("vllm_v0")
    line = causes_line(trace, Kind.PREEMPTED)
    assert "self.throw_out(victim" in line


def causes_line(trace: Trace, kind: Kind) -> str:
    """The line of the scheduler's file that took the first decision of this kind."""
    number = next(e.line for e in trace.event_rows if e.kind is kind)
    assert number is not None
    source = Path(inspect.getfile(schedulers()["vllm_v0"])).read_text("utf-8")
    return source.splitlines()[number - 1]


# -- whole queues that are not looked at ---------------------------------------------------------

def test_decodes_pause_in_a_step_that_admits() -> None:
    """2.5: and the record says for whom."""
    trace = run_v0(make_requests(2, arrival_step=[0, 1]))
    held = only_event(trace, Kind.HELD)
    assert (held.step, held.queue) == (1, "running")
    assert held.cause == Cause(Limit.PREFILL_STEP, other="2")
    assert column(trace, "steps", "num_scheduled")[:3] == [1, 1, 2]


def three_full_blocks(**knobs: Any) -> Trace:
    """Three requests that fill a block each, of three. In step 1 the first takes the third's
    block, and the second, the last one left, throws itself out."""
    return run_v0(make_requests(3, prompt_len=4, output_len=9), num_gpu_blocks=3,
                  preemption_mode="swap", **knobs)


def test_swapped_victims_stand_in_the_order_of_being_thrown_out() -> None:
    """Surprise 2."""
    trace = three_full_blocks()
    assert causes(trace, Kind.SWAPPED_OUT)[:2] == [
        (1, "3", Cause(Limit.GPU_BLOCKS, 1, 0, "1")), (1, "2", Cause(Limit.GPU_BLOCKS, 1, 0, "2"))]
    assert queue_after(trace, "swapped", 1) == ["3", "2"]


def test_swapped_out_request_returns_when_its_full_block_and_the_next_token_fit() -> None:
    """2.9.1: in step 2 one block is free, and it needs its own and one for the new token."""
    refused = only_event(three_full_blocks(), Kind.REFUSED, step=2)
    assert (refused.request, refused.queue) == (2, "swapped")
    assert refused.cause == Cause(Limit.GPU_BLOCKS, 2, 1)


def test_swapped_queue_is_not_looked_at_in_a_step_that_preempts() -> None:
    """2.5.3: in step 6 the first has 10 tokens in three blocks, and throws itself out."""
    held = only_event(three_full_blocks(), Kind.HELD, step=6)
    assert (held.queue, held.cause) == ("swapped", Cause(Limit.PREEMPTING_STEP, other="1"))


def test_one_swapped_request_closes_the_door_for_newcomers_unless_prefill_is_chunked() -> None:
    """Surprise 3: a newcomer of one block stands in waiting while 3 is swapped."""
    knobs = {"num_gpu_blocks": 6, "preemption_mode": "swap"}
    requests = make_requests(3, prompt_len=[8, 12, 1], output_len=[5, 5, 1],
                             arrival_step=[0, 0, 2])
    trace = run_v0(requests, **knobs)
    assert ids_of(trace, Kind.SWAPPED_OUT, step=1) == ["2"]
    held = only_event(trace, Kind.HELD, step=2)
    assert (held.queue, held.cause) == ("waiting", Cause(Limit.SWAPPED_FIRST, other="2"))
    chunked = run_v0(requests, enable_chunked_prefill=True, **knobs)
    assert ids_of(chunked, Kind.SWAPPED_OUT, step=1) == ["2"]
    assert ids_of(chunked, Kind.ADMITTED, step=2) == ["3"]


# -- admission -----------------------------------------------------------------------------------

@pytest.mark.parametrize(("prompt_len", "cause"), [
    (28, Cause(Limit.WATERMARK, 7, 6)),
    (36, Cause(Limit.GPU_BLOCKS, 9, 8)),
])
def test_prompt_that_never_fits_is_ignored_and_the_next_one_admitted(
        prompt_len: int, cause: Cause) -> None:
    """2.7.4: of 8 blocks a quarter is reserved."""
    trace = run_v0(make_requests(2, prompt_len=[prompt_len, 4]), watermark=0.25)
    assert causes(trace, Kind.IGNORED) == [(0, "1", cause)]
    assert ids_of(trace, Kind.ADMITTED, step=0) == ["2"]


@pytest.mark.parametrize(("prompt_len", "cause"), [
    (12, Cause(Limit.WATERMARK, 3, 2)),
    (20, Cause(Limit.GPU_BLOCKS, 5, 4)),
])
def test_prompt_that_does_not_fit_now_is_refused_and_nobody_behind_it_tried(
        prompt_len: int, cause: Cause) -> None:
    """2.7: the first holds 4 of 8 blocks, and 2 are reserved; the third needs one block only."""
    trace = run_v0(make_requests(3, prompt_len=[16, prompt_len, 1]), watermark=0.25)
    assert causes(trace, Kind.REFUSED)[0] == (0, "2", cause)
    assert ids_of(trace, Kind.ADMITTED, step=0) == ["1"]


@pytest.mark.parametrize(("knobs", "cause"), [
    ({"max_num_batched_tokens": 64}, Cause(Limit.TOKEN_BUDGET, 40, 34)),
    ({"max_num_seqs": 1}, Cause(Limit.SEQ_BUDGET, 1, 0)),
])
def test_prompt_over_the_rest_of_a_budget_is_refused(knobs: dict[str, int], cause: Cause) -> None:
    trace = run_v0(make_requests(2, prompt_len=[30, 40]), num_gpu_blocks=30,
                   **{"max_num_batched_tokens": 100, **knobs})
    assert causes(trace, Kind.REFUSED)[0] == (0, "2", cause)


@pytest.mark.parametrize(("budget", "cause"), [
    (100, Cause(Limit.MODEL_LEN, 65, 64)),
    (32, Cause(Limit.TOKEN_BUDGET, 65, 32)),
])
def test_prompt_over_the_smaller_of_budget_and_model_length_is_ignored(
        budget: int, cause: Cause) -> None:
    """2.7.3"""
    trace = run_v0(make_requests(1, prompt_len=65), num_gpu_blocks=30, bypass_config_checks=True,
                   max_num_batched_tokens=budget)
    assert causes(trace, Kind.IGNORED) == [(0, "1", cause)]


def test_length_limit_is_held_against_the_chunk_so_a_longer_prompt_runs_and_gets_one_token(
        ) -> None:
    """Surprise 8: 20 tokens in chunks of 8, 8 and 4, and none of them is over 10."""
    trace = run_v0(make_requests(1, prompt_len=20), max_model_len=10, max_num_batched_tokens=8,
                   enable_chunked_prefill=True)
    assert [e.num_tokens for e in trace.event_rows if e.kind is Kind.PREFILLED] == [8, 8, 4]
    assert column(trace, "requests", "num_output_tokens") == [1]


def test_request_ends_with_one_token_more_than_the_model_length() -> None:
    """2.2: 8 + 1 tokens, one of them generated."""
    trace = run_v0(make_requests(1, prompt_len=8), max_model_len=8)
    assert column(trace, "requests", "num_output_tokens") == [1]
    assert trace.end == End(Outcome.FINISHED, 1)


def test_delay_factor_lets_the_head_wait_for_more_than_that_many_prompt_steps() -> None:
    """2.13: 3 × 1 step; it arrives at 1, a little later than the whole step, and waits 4."""
    trace = run_v0(make_requests(2, arrival_step=[0, 1], output_len=9), delay_factor=3)
    assert causes(trace, Kind.REFUSED) == [
        (1 + waited, "2", Cause(Limit.DELAY_FACTOR, 4, waited)) for waited in range(4)]
    assert ids_of(trace, Kind.ADMITTED, step=5) == ["2"]

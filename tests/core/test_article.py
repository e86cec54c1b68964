"""The article's scheduler, as printed and mended: hand-computed runs of a few requests.

The section in each docstring is the article's. Unless a test says otherwise, blocks have 4 tokens
(conftest.py). A request that holds n tokens when a step has been decided, the token of that step
included, holds ceil(n / 4) blocks. The slips and the extensions have files of their own.
"""

from __future__ import annotations

import pytest

from core.trace import Cause, End, Kind, Limit, Outcome, State
from tests.conftest import (
    blocks_held,
    column,
    ids_of,
    make_requests,
    only_event,
    queue_after,
    queues_after,
    run,
    two_that_outgrow_their_blocks,
)

BOTH = pytest.mark.parametrize("scheduler", ["article", "article_repaired"])


@BOTH
def test_demo_first_cycle_third_prompt_waits(scheduler: str) -> None:
    """Section 4 prints Running: [1, 2] after the first cycle.

    One token per character: Hello 5, Hi 2, Greetings 9, so 2, 1 and 3 blocks of the 4 there are.
    """
    prompts = make_requests(3, prompt=["Hello", "Hi", "Greetings"], output_len=8)
    trace = run(prompts, scheduler=scheduler, num_gpu_blocks=4)
    assert column(trace, "requests", "prompt_len") == [5, 2, 9]
    assert queues_after(trace, 0) == {"waiting": ["3"], "running": ["1", "2"], "swapped": []}
    assert only_event(trace, Kind.REFUSED, step=0).cause == Cause(Limit.GPU_BLOCKS, 3, 1)


def test_demo_as_memory_runs_short_a_request_moves_to_swapped() -> None:
    """Section 4: "when it goes on, requests move from running to swapped".

    Request 2 holds 2, 3, 4, ... tokens before steps 0, 1, 2: its 5th, in step 2, needs a second
    block, which is the last of the four. Request 1's 9th token, in step 3, finds none.
    """
    prompts = make_requests(3, prompt=["Hello", "Hi", "Greetings"], output_len=8)
    trace = run(prompts, num_gpu_blocks=4)
    assert queues_after(trace, 2) == {"waiting": ["3"], "running": ["1", "2"], "swapped": []}
    assert column(trace, "steps", "free_gpu_blocks")[:3] == [1, 1, 0]
    event = only_event(trace, Kind.SWAPPED_OUT, step=3)
    assert (trace.request_id(event.request), event.cause) == ("1", Cause(Limit.GPU_BLOCKS, 1, 0))
    assert queues_after(trace, 3) == {"waiting": ["3"], "running": ["2"], "swapped": ["1"]}


def test_text_prompt_in_chinese_counts_one_token_per_character() -> None:
    """Section 2.2 measures a prompt with len(prompt)."""
    trace = run(make_requests(1, prompt="调度器源码", output_len=1))
    assert only_event(trace, Kind.PREFILLED).num_tokens == 5


@BOTH
def test_prompt_longer_than_the_limit_is_ignored_and_does_not_block(scheduler: str) -> None:
    """Section 2.2: len(prompt) > max_prompt_len is FINISHED_IGNORED, and the loop goes on."""
    trace = run(make_requests(3, prompt_len=[5, 4, 5], output_len=1), scheduler=scheduler,
                max_model_len=4)
    ignored = [e for e in trace.event_rows if e.kind is Kind.IGNORED]
    assert [(e.step, e.request, e.cause) for e in ignored] == [
        (0, 0, Cause(Limit.MODEL_LEN, 5, 4)), (0, 2, Cause(Limit.MODEL_LEN, 5, 4))]
    assert [row.state for row in trace.request_rows] == [
        State.IGNORED, State.FINISHED, State.IGNORED]
    assert trace.end == End(Outcome.FINISHED, 1)


@BOTH
def test_head_that_lacks_blocks_keeps_out_all_behind_it(scheduler: str) -> None:
    """Section 2.2: `if not self.can_allocate(seq_group): break`.

    Request 1 takes 2 of 3 blocks; 2 needs 2; 3 needs the one that is left and does not get it.
    """
    trace = run(make_requests(3, prompt_len=[6, 8, 2], output_len=2), scheduler=scheduler,
                num_gpu_blocks=3)
    assert ids_of(trace, Kind.ADMITTED, step=0) == ["1"]
    refused = only_event(trace, Kind.REFUSED, step=0)
    assert (refused.request, refused.queue, refused.cause) == (
        1, "waiting", Cause(Limit.GPU_BLOCKS, 2, 1))
    assert queue_after(trace, "waiting", 0) == ["2", "3"]


@BOTH
def test_token_budget_spent_by_prompts_refuses_the_next(scheduler: str) -> None:
    """Section 2.1: used_tokens + new_tokens <= token_budget.

    Two prompts of 3 leave 2 of 8 tokens, and the third prompt needs 3. As printed, the running
    pass then spends one more for each of the two; mended, their token was among the 3.
    """
    trace = run(make_requests(3, prompt_len=3, output_len=1), scheduler=scheduler,
                max_num_batched_tokens=8)
    assert ids_of(trace, Kind.ADMITTED, step=0) == ["1", "2"]
    assert only_event(trace, Kind.REFUSED).cause == Cause(Limit.TOKEN_BUDGET, 3, 2)
    charged = {"article": [8, 4], "article_repaired": [6, 3]}
    assert column(trace, "steps", "num_batched_tokens") == charged[scheduler]
    assert ids_of(trace, Kind.ADMITTED, step=1) == ["3"]


def test_token_budget_used_up_by_prompts_throws_the_last_one_out_again() -> None:
    """Sections 2.1 and 2.2: with 7 tokens, the prompts of 3 and 3 leave one for two requests.

    Request 2 goes to swapped in the cycle that admitted it. In step 1 it returns (1 token, 1
    sequence) and gets its first token; the listing never computes its prompt, nor do we.
    """
    trace = run(make_requests(2, prompt_len=3, output_len=2), max_num_batched_tokens=7)
    assert only_event(trace, Kind.SWAPPED_OUT).cause == Cause(Limit.TOKEN_BUDGET, 1, 0)
    assert queues_after(trace, 0) == {"waiting": [], "running": ["1"], "swapped": ["2"]}
    assert ids_of(trace, Kind.SWAPPED_IN, step=1) == ["2"]
    assert column(trace, "requests", "first_token_step") == [0, 1]
    assert column(trace, "requests", "end_step") == [1, 2]
    assert ids_of(trace, Kind.PREFILLED) == ["1"]


def test_sequence_budget_counts_running_requests_at_the_door() -> None:
    """Section 2.1: used_seqs + new_seqs <= seq_budget, mended: 2 seats, 3 requests of 2 tokens."""
    trace = run(make_requests(3, output_len=2), scheduler="article_repaired", max_num_seqs=2)
    refusals = [(e.step, e.request, e.cause) for e in trace.event_rows if e.kind is Kind.REFUSED]
    no_seat = Cause(Limit.SEQ_BUDGET, 1, 0)
    assert refusals == [(0, 2, no_seat), (1, 2, no_seat)]
    assert column(trace, "requests", "first_scheduled_step") == [0, 0, 2]
    assert column(trace, "steps", "num_running") == [2, 2, 1, 1]


@BOTH
def test_waiting_is_not_looked_at_while_somebody_is_swapped(scheduler: str) -> None:
    """Section 3: "only if swapped is empty are new requests handled".

    In step 4 somebody is swapped out (since step 3) and request 3 arrives; it is admitted in step
    5, when the swapped one has come back.
    """
    trace = run(make_requests(3, prompt_len=1, output_len=5, arrival_step=[0, 0, 4]),
                scheduler=scheduler, num_gpu_blocks=2)
    swapped = {"article": "1", "article_repaired": "2"}[scheduler]
    held = only_event(trace, Kind.HELD, step=4)
    assert (held.queue, held.request) == ("waiting", None)
    assert held.cause == Cause(Limit.SWAPPED_FIRST, other=swapped)
    assert ids_of(trace, Kind.SWAPPED_IN, step=5) == [swapped]
    assert ids_of(trace, Kind.ADMITTED, step=5) == ["3"]


@BOTH
def test_restoring_needs_as_many_free_gpu_blocks_as_were_held(scheduler: str) -> None:
    """Section 2.2, "when resources are free": in step 4 the block it needs is not free."""
    trace = two_that_outgrow_their_blocks(scheduler)
    assert only_event(trace, Kind.REFUSED).step == 4
    assert only_event(trace, Kind.REFUSED).cause == Cause(Limit.GPU_BLOCKS, 1, 0)
    assert column(trace, "steps", "free_cpu_blocks") == [8, 8, 8, 7, 7, 8, 8]


@BOTH
def test_no_free_cpu_block_to_swap_to_aborts_the_run(scheduler: str) -> None:
    """Section 2.2 puts a victim on swapped; without a CPU block for it, the run ends in step 3."""
    trace = two_that_outgrow_their_blocks(scheduler, num_cpu_blocks=0)
    victim = {"article": 0, "article_repaired": 1}[scheduler]
    cause = Cause(Limit.CPU_BLOCKS, 1, 0)
    assert trace.end == End(Outcome.ABORTED, 3, cause, victim, "lack of CPU swap space")
    assert only_event(trace, Kind.ABORTED).cause == cause
    assert column(trace, "requests", "outcome") == ["aborted", "aborted"]
    assert trace.num_steps == 3


@BOTH
def test_recomputed_request_loses_its_blocks_and_keeps_its_tokens(scheduler: str) -> None:
    """Section 2.2, RECOMPUTE: back to WAITING, to compute the prompt and the outputs again.

    The victim of step 3 has computed 1 + 2 tokens and generated 3. Admitted again in step 5 it
    computes all 4 and gets its 4th token, in step 6 the 5th: 3 + 4 + 1 tokens computed.
    """
    trace = two_that_outgrow_their_blocks(scheduler, preemption_mode="recompute")
    victim = {"article": 0, "article_repaired": 1}[scheduler]
    row = trace.request_rows[victim]
    assert (row.num_preemptions, row.num_swaps, row.num_computed_tokens) == (1, 0, 8)
    stays = [(s.state, s.attempt, s.from_step, s.to_step, s.num_tokens)
             for s in trace.span_rows if s.request == victim]
    assert stays == [
        (State.PREFILL, 0, 0, 1, 1), (State.DECODE, 0, 1, 3, 2), (State.WAITING, 1, 3, 5, 0),
        (State.PREFILL, 1, 5, 6, 4), (State.DECODE, 1, 6, 7, 1), (State.FINISHED, 1, 7, 7, 0)]
    assert column(trace, "steps", "free_cpu_blocks") == [8] * 7


@BOTH
def test_decode_that_starts_a_block_takes_it_in_the_same_step(scheduler: str) -> None:
    """Section 2.2, "each sequence generates one token": a prompt of 4 fills a block; its first
    output, in the step of its admission, starts the second one, the 5th starts the third."""
    trace = run(make_requests(1, prompt_len=4, output_len=5), scheduler=scheduler)
    assert column(trace, "steps", "free_gpu_blocks") == [6, 6, 6, 6, 5]
    assert blocks_held(trace, "gpu", 3) == {"1": [0, 1]}
    assert blocks_held(trace, "gpu", 4) == {"1": [0, 1, 2]}


@BOTH
def test_prompt_larger_than_memory_ends_the_run_as_stuck_with_its_cause(scheduler: str) -> None:
    """Section 2.2: can_allocate never holds for 9 tokens in 2 blocks; 50 idle steps are enough."""
    trace = run(make_requests(1, prompt_len=9), scheduler=scheduler, num_gpu_blocks=2)
    assert trace.end == End(Outcome.STUCK, 50, Cause(Limit.GPU_BLOCKS, 3, 2), 0)
    assert column(trace, "requests", "outcome") == ["waiting"]


@BOTH
def test_run_longer_than_the_step_limit_is_cut_off(scheduler: str) -> None:
    """Section 4 runs so many cycles and looks."""
    trace = run(make_requests(1, output_len=9), scheduler=scheduler, max_steps=3)
    assert trace.end == End(Outcome.STEP_LIMIT, 3)
    assert column(trace, "requests", "outcome") == ["decode"]
    assert column(trace, "requests", "num_output_tokens") == [3]

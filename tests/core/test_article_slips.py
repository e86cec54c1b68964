"""The slips of the article's listing, each as printed and as mended: hand-computed runs.

The numbers are those of the docstrings of article.py and article_repaired.py; the section is the
article's. Blocks have 4 tokens unless a test says otherwise (conftest.py).
"""

from __future__ import annotations

import pytest

from core import Trace
from core.trace import Cause, End, Kind, Limit, Outcome
from tests.conftest import (
    blocks_held,
    column,
    ids_of,
    make_requests,
    only_event,
    queue_after,
    run,
    two_that_outgrow_their_blocks,
)


def test_slip_1_restored_request_is_charged_a_sequence_per_token_and_never_returns() -> None:
    """Section 2.2: new_seqs = len(output_tokens) + 1, which is 4 of 3 sequences, for ever."""
    trace = two_that_outgrow_their_blocks("article", max_num_seqs=3)
    never = Cause(Limit.SEQ_BUDGET, 4, 3)
    assert ids_of(trace, Kind.SWAPPED_OUT) == ["1"]
    refusals = [e for e in trace.event_rows if e.kind is Kind.REFUSED]
    assert {(e.request, e.queue, e.cause) for e in refusals} == {(0, "swapped", never)}
    assert [e.step for e in refusals] == list(range(4, 55))
    assert trace.end == End(Outcome.STUCK, 55, never, 0)
    assert column(trace, "requests", "outcome") == ["swapped", "finished"]


def test_slip_1_just_enough_sequences_to_return_throw_it_out_at_once() -> None:
    """Sections 2.2 and 3: charged 4 of 4 sequences, it finds none left in the running pass."""
    trace = two_that_outgrow_their_blocks("article", max_num_seqs=4)
    assert ids_of(trace, Kind.SWAPPED_IN, step=5) == ["1"]
    assert only_event(trace, Kind.SWAPPED_OUT, step=5).cause == Cause(Limit.SEQ_BUDGET, 1, 0)
    assert trace.end == End(Outcome.STUCK, 55, Cause(Limit.SEQ_BUDGET, 1, 0), 0)


def test_slip_1_mended_restored_request_is_one_sequence() -> None:
    """Section 2.2, mended: it returns as soon as request 1 has ended, in step 5."""
    trace = two_that_outgrow_their_blocks("article_repaired", max_num_seqs=3)
    assert ids_of(trace, Kind.SWAPPED_IN, step=5) == ["2"]
    assert column(trace, "steps", "seqs_used") == [2, 2, 2, 2, 1, 1, 1]
    assert column(trace, "requests", "end_step") == [4, 6]
    assert trace.end == End(Outcome.FINISHED, 7)


def test_slip_2_admitting_the_whole_sequence_budget_throws_everybody_out_again() -> None:
    """Sections 2.2 and 3: the running pass finds used_seqs = 2 of 2 and has room for nobody.

    Restored in the next cycle, they are charged 1 + 1 sequences and thrown out again: no token is
    ever made.
    """
    trace = run(make_requests(2, output_len=2), max_num_seqs=2)
    assert ids_of(trace, Kind.ADMITTED, step=0) == ["1", "2"]
    out = [e for e in trace.event_rows if e.kind is Kind.SWAPPED_OUT]
    assert [(e.step, e.request) for e in out[:4]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert {e.cause for e in out} == {Cause(Limit.SEQ_BUDGET, 1, 0)}
    assert trace.end == End(Outcome.STUCK, 50, Cause(Limit.SEQ_BUDGET, 1, 0), 1)
    assert column(trace, "requests", "num_output_tokens") == [0, 0]


def test_slip_2_running_requests_are_not_counted_as_sequences() -> None:
    """Sections 2.2 and 3: only those admitted in this cycle are counted, so 3 run with 2 seats."""
    trace = run(make_requests(3, arrival_step=[0, 1, 2]), max_num_seqs=2)
    assert column(trace, "steps", "num_running")[:3] == [1, 2, 3]
    assert column(trace, "steps", "seqs_used")[:3] == [1, 1, 1]


def test_slip_2_mended_running_requests_are_counted_once() -> None:
    """Section 3, mended: two of two admitted stay, and a third waits for one of them to end."""
    trace = run(make_requests(3, arrival_step=[0, 0, 1], output_len=[2, 3, 2]),
                scheduler="article_repaired", max_num_seqs=2)
    assert ids_of(trace, Kind.SWAPPED_OUT) == []
    assert only_event(trace, Kind.REFUSED, step=1).cause == Cause(Limit.SEQ_BUDGET, 1, 0)
    assert column(trace, "steps", "num_running") == [2, 2, 2, 1]
    assert column(trace, "steps", "seqs_used") == [2, 2, 2, 1]


def three_with_a_block_each(scheduler: str, preemption_mode: str = "recompute") -> Trace:
    """Three requests fill 3 blocks of 2 tokens; in step 1 each needs a second block."""
    return run(make_requests(3, prompt_len=1, output_len=4), scheduler=scheduler, block_size=2,
               num_gpu_blocks=3, preemption_mode=preemption_mode)


def test_slip_3_first_to_find_no_room_is_the_victim() -> None:
    """Section 2.2: 1 finds no block and goes; 2 takes that block; 3 finds none and goes."""
    trace = three_with_a_block_each("article")
    victims = [(e.request, e.cause) for e in trace.event_rows if e.kind is Kind.PREEMPTED
               and e.step == 1]
    no_block = Cause(Limit.GPU_BLOCKS, 1, 0)
    assert victims == [(0, no_block), (2, no_block)]
    assert queue_after(trace, "running", 1) == queue_after(trace, "scheduled", 1) == ["2"]
    assert blocks_held(trace, "gpu", 1) == {"2": [1, 0]}


def test_slip_3_mended_victims_come_from_the_end() -> None:
    """Section 2.2, mended: 3 goes for 1; then 2 is the last one itself."""
    trace = three_with_a_block_each("article_repaired")
    victims = [(e.request, e.cause) for e in trace.event_rows if e.kind is Kind.PREEMPTED
               and e.step == 1]
    assert victims == [(2, Cause(Limit.GPU_BLOCKS, 1, 0, "1")),
                       (1, Cause(Limit.GPU_BLOCKS, 1, 0, "2"))]
    assert queue_after(trace, "running", 1) == queue_after(trace, "scheduled", 1) == ["1"]
    assert blocks_held(trace, "gpu", 1) == {"1": [0, 2]}
    assert trace.step_rows[1].free_gpu_blocks == 1


def test_slip_4_extendleft_turns_the_recomputed_round() -> None:
    """Section 3: waiting.extendleft([1, 3]) puts 3 in front of 1."""
    assert queue_after(three_with_a_block_each("article"), "waiting", 1) == ["3", "1"]


def test_slip_4_mended_recomputed_wait_in_order_of_arrival() -> None:
    """Section 3, mended: victims 3 and 2 wait as 2, 3."""
    assert queue_after(three_with_a_block_each("article_repaired"), "waiting", 1) == ["2", "3"]


@pytest.mark.parametrize(("scheduler", "swapped"), [
    ("article", ["1", "3"]), ("article_repaired", ["2", "3"])])
def test_swapped_out_in_one_cycle_stand_in_order_of_arrival(
        scheduler: str, swapped: list[str]) -> None:
    """Section 3: swapped.extend(...); mended, victims 3 and 2 are turned round once more."""
    trace = three_with_a_block_each(scheduler, preemption_mode="swap")
    assert queue_after(trace, "swapped", 1) == swapped


def test_slip_4_recomputed_stand_before_those_who_never_ran() -> None:
    """Section 3: extendleft puts 1 and 2, thrown out by slip 2, before 3, in the wrong order."""
    trace = run(make_requests(3), max_num_seqs=2, preemption_mode="recompute")
    assert queue_after(trace, "waiting", 0) == ["2", "1", "3"]


def outgrown_and_recomputed(scheduler: str, token_budget: int) -> Trace:
    """Two requests with 1 prompt token, in 2 blocks of 8: in step 7 one of them is thrown out with
    7 generated tokens, so 8 to compute again. The other ends in step 8 with its 9th."""
    return run(make_requests(2, prompt_len=1, output_len=9), scheduler=scheduler, block_size=8,
               num_gpu_blocks=2, preemption_mode="recompute", max_num_batched_tokens=token_budget)


def test_slip_5_recomputed_request_is_charged_its_prompt_only() -> None:
    """Section 2.2: new_tokens = len(prompt) = 1, though 8 tokens go through the model.

    Charged 1 + 1 of a budget of 4, it computes twice the budget.
    """
    trace = outgrown_and_recomputed("article", token_budget=4)
    assert ids_of(trace, Kind.PREEMPTED, step=7) == ["1"]
    assert ids_of(trace, Kind.ADMITTED, step=9) == ["1"]
    row = trace.step_rows[9]
    assert (row.num_batched_tokens, row.num_prefill_tokens) == (2, 8)
    assert trace.end == End(Outcome.FINISHED, 11)


def test_slip_5_mended_recomputed_request_is_charged_all_it_computes() -> None:
    """Section 2.2, mended: 8 tokens are charged, which a budget of 8 has."""
    trace = outgrown_and_recomputed("article_repaired", token_budget=8)
    assert ids_of(trace, Kind.ADMITTED, step=9) == ["2"]
    row = trace.step_rows[9]
    assert (row.num_batched_tokens, row.num_prefill_tokens) == (8, 8)
    assert trace.end == End(Outcome.FINISHED, 11)


def test_slip_5_mended_recomputed_request_beyond_the_budget_waits_for_ever() -> None:
    """Section 2.2, mended: the price of honest charging without chunks."""
    trace = outgrown_and_recomputed("article_repaired", token_budget=7)
    assert trace.end == End(Outcome.STUCK, 59, Cause(Limit.TOKEN_BUDGET, 8, 7), 1)


def test_slip_6_restored_request_pays_for_its_token_twice() -> None:
    """Sections 2.2 and 3: once in schedule_swapped, once in schedule_running."""
    trace = two_that_outgrow_their_blocks("article")
    assert ids_of(trace, Kind.SWAPPED_IN, step=5) == ["1"]
    row = trace.step_rows[5]
    assert (row.num_scheduled, row.num_batched_tokens) == (1, 2)


def test_slip_6_mended_restored_request_pays_once() -> None:
    """Sections 2.2 and 3, mended."""
    trace = two_that_outgrow_their_blocks("article_repaired")
    assert ids_of(trace, Kind.SWAPPED_IN, step=5) == ["2"]
    row = trace.step_rows[5]
    assert (row.num_scheduled, row.num_batched_tokens) == (1, 1)


def let_in_without_room_for_its_token(scheduler: str) -> Trace:
    """3 blocks of 4. "1" (5 tokens) holds 2 from step 0 on and ends in step 2; "2" (4 tokens, a
    full block) is let in in step 1 and 2, and finds no block for its first token."""
    requests = make_requests(2, prompt_len=[5, 4], output_len=[3, 2], arrival_step=[0, 1])
    return run(requests, scheduler=scheduler, num_gpu_blocks=3, preemption_mode="swap")


def test_slip_7_thrown_out_before_its_prompt_was_computed_comes_back_as_if_it_had_been() -> None:
    """Section 2.2: "2" gets both its tokens, one by one, and its 4 prompt tokens never run."""
    trace = let_in_without_room_for_its_token("article")
    assert ids_of(trace, Kind.SWAPPED_OUT, step=1) == ["2"]
    assert ids_of(trace, Kind.PREFILLED, step=3) == []
    row = trace.request_rows[1]
    assert (row.num_output_tokens, row.num_computed_tokens) == (2, 2)


def test_slip_7_mended_who_has_computed_nothing_waits_again() -> None:
    """Section 2.2, mended: nothing is moved, and the 4 prompt tokens are computed in step 3."""
    trace = let_in_without_room_for_its_token("article_repaired")
    assert ids_of(trace, Kind.PREEMPTED, step=1) == ["2"]
    assert ids_of(trace, Kind.PREFILLED, step=3) == ["2"]
    row = trace.request_rows[1]
    assert (row.num_swaps, row.num_output_tokens, row.num_computed_tokens) == (0, 2, 5)

"""Each invariant on a run that does not keep it: there is no check that cannot fail.

The runs are doctored: a true one in which a row is changed, added or taken away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core import Trace, simulate
from core.invariants import INVARIANTS, Finding, Verdict, examine
from core.invariants.reruns import RERUNS
from core.schedulers import schedulers
from core.trace import Cause, End, Event, Kind, Limit, Outcome, State, TableLease
from tests.conftest import make_requests, make_scenario, run, two_that_outgrow_their_blocks
from tests.core.peeking import PeekingScheduler


def true_run(**knobs: Any) -> Trace:
    """Two requests that outgrow 2 blocks (conftest.py): 2 is swapped out in step 3, refused in
    step 4, and back in step 5; 7 steps."""
    return two_that_outgrow_their_blocks("article_repaired", **knobs)


def found(trace: Trace, name: str) -> Finding:
    """What one invariant finds."""
    (invariant,) = [each for each in [*INVARIANTS, *RERUNS] if each.name == name]
    return invariant.examine(trace)


def assert_broken(trace: Trace, name: str, step: int | None, **detail: Any) -> None:
    """The invariant is broken first in this step, with these details among others."""
    finding = found(trace, name)
    assert finding.verdict is Verdict.BROKEN
    assert finding.step == step
    assert {key: finding.detail[key] for key in detail} == detail


def with_step(trace: Trace, step: int, **values: Any) -> Trace:
    """The run with other numbers in one step's row."""
    rows = list(trace.step_rows)
    rows[step] = rows[step]._replace(**values)
    return replace(trace, step_rows=rows)


def with_event(trace: Trace, *events: Event) -> Trace:
    """The run with more decisions, each at the end of its step."""
    return replace(trace, event_rows=sorted([*trace.event_rows, *events], key=lambda e: e.step))


def with_changed(trace: Trace, kind: Kind, change: Callable[[Event], list[Event]]) -> Trace:
    """The run with every decision of one kind replaced by others."""
    rows = [new for event in trace.event_rows
            for new in (change(event) if event.kind is kind else [event])]
    return replace(trace, event_rows=rows)


def test_true_run_keeps_all() -> None:
    assert {finding.verdict for finding in examine(true_run())} == {Verdict.HELD}
    assert {each.examine(true_run()).verdict for each in RERUNS} == {Verdict.HELD}


# -- 1 blocks_conserved ---------------------------------------------------------------------------


@pytest.mark.parametrize(("device", "column", "size"), [
    ("gpu", "free_gpu_blocks", 2), ("cpu", "free_cpu_blocks", 8)])
def test_blocks_conserved_with_one_more_free_is_broken(
        device: str, column: str, size: int) -> None:
    free = getattr(true_run().step_rows[4], column) + 1
    trace = with_step(true_run(), 4, **{column: free})
    assert_broken(trace, "blocks_conserved", 4, device=device, free=free, held=size - free + 1,
                  size=size)


def test_blocks_conserved_with_a_lease_lost_is_broken() -> None:
    trace = true_run()
    lost = next(lease for lease in trace.lease_rows if lease.device == "cpu")
    rows = [lease for lease in trace.lease_rows if lease is not lost]
    assert_broken(replace(trace, lease_rows=rows), "blocks_conserved", 3, device="cpu", free=7,
                  held=0)


def test_blocks_conserved_with_a_block_that_does_not_exist_is_broken() -> None:
    trace = true_run()
    lease = TableLease("gpu", 0, [2], [1], 3, False)
    assert_broken(replace(trace, lease_rows=[*trace.lease_rows, lease]), "blocks_conserved", 1,
                  block_id=2, size=2)


# -- 2 no_block_in_two_tables ---------------------------------------------------------------------


def test_no_block_in_two_tables_with_a_second_holder_is_broken() -> None:
    trace = true_run()  # request 1 holds block 0 in steps 0 to 4
    second = TableLease("gpu", 1, [0], [2], 3, False)
    assert_broken(replace(trace, lease_rows=[*trace.lease_rows, second]),
                  "no_block_in_two_tables", 2, device="gpu", block_id=0, request_id="1", other="2")


def shared_run(prefix_len: int = 8, caching: bool = True) -> Trace:
    """Two requests with the same first two blocks, in the tables of both with prefix caching."""
    requests = make_requests(2, prompt_len=10, output_len=4, prefix_id="p", prefix_len=prefix_len)
    return run(requests, scheduler="vllm_v1", num_gpu_blocks=12, enable_prefix_caching=caching)


def test_no_block_in_two_tables_with_a_shared_prefix_is_held() -> None:
    trace = shared_run()
    blocks = [block for lease in trace.lease_rows for block in lease.blocks]
    assert len(blocks) - len(set(blocks)) == 2
    assert found(trace, "no_block_in_two_tables").verdict is Verdict.HELD
    assert found(trace, "blocks_conserved").verdict is Verdict.HELD


@pytest.mark.parametrize("other", [{"prefix_len": 7}, {"caching": False}])
def test_no_block_in_two_tables_with_blocks_shared_without_right_is_broken(
        other: dict[str, Any]) -> None:
    """The second block is not within a prefix of 7 tokens; without caching nothing is shared."""
    trace = replace(shared_run(), scenario=shared_run(**other).scenario)
    assert_broken(trace, "no_block_in_two_tables", 0, request_id="1", other="2")


# -- 3 tokens_within_budget, 4 running_within_seq_budget ------------------------------------------


def test_tokens_within_budget_with_more_prefill_is_broken() -> None:
    trace = with_step(true_run(), 0, num_prefill_tokens=65)
    assert_broken(trace, "tokens_within_budget", 0, num_tokens=65, token_budget=64)


def test_tokens_within_budget_counts_decodes_along_with_prefills() -> None:
    """Step 1 decodes for two requests: 63 more tokens are one too many."""
    assert found(with_step(true_run(), 1, num_prefill_tokens=62),
                 "tokens_within_budget").verdict is Verdict.HELD
    assert_broken(with_step(true_run(), 1, num_prefill_tokens=63), "tokens_within_budget", 1,
                  num_tokens=65)


def test_tokens_within_budget_knows_the_schedulers_own_budget() -> None:
    trace = run(scheduler="vllm_v1", max_num_scheduled_tokens=5)
    assert found(trace, "tokens_within_budget").verdict is Verdict.HELD
    assert_broken(with_step(trace, 0, num_prefill_tokens=6), "tokens_within_budget", 0,
                  token_budget=5)


def test_running_within_seq_budget_with_more_running_is_broken() -> None:
    assert_broken(with_step(true_run(), 2, num_running=9), "running_within_seq_budget", 2,
                  num_running=9, seq_budget=8)


def test_running_within_seq_budget_knows_the_seats_of_v1() -> None:
    trace = run(scheduler="vllm_v1", max_num_active_seqs=1)
    assert found(trace, "running_within_seq_budget").verdict is Verdict.HELD
    assert_broken(with_step(trace, 1, num_running=2), "running_within_seq_budget", 1,
                  seq_budget=1)


# -- 5 no_admission_past_refused_head -------------------------------------------------------------


def test_no_admission_past_refused_head_with_one_let_in_behind_is_broken() -> None:
    trace = run(make_requests(2, prompt_len=[9, 4]), num_gpu_blocks=2)  # 1 never fits
    passed = Event(3, Kind.ADMITTED, 1, queue="waiting")
    assert_broken(with_event(trace, passed), "no_admission_past_refused_head", 3,
                  queue="waiting", request_id="1", other="2")


def test_no_admission_past_refused_head_of_the_swapped_is_broken() -> None:
    passed = Event(4, Kind.SWAPPED_IN, 0, queue="swapped")
    assert_broken(with_event(true_run(), passed), "no_admission_past_refused_head", 4,
                  queue="swapped", request_id="2", other="1")


def test_no_admission_past_refused_head_out_of_a_held_queue_is_broken() -> None:
    trace = run(make_requests(3, prompt_len=1, output_len=5, arrival_step=[0, 0, 4]),
                scheduler="article_repaired", num_gpu_blocks=2)  # waiting is held in step 4
    passed = Event(4, Kind.ADMITTED, 2, queue="waiting")
    assert_broken(with_event(trace, passed), "no_admission_past_refused_head", 4, other="3")


def test_no_admission_past_refused_head_in_the_next_step_is_held() -> None:
    passed = Event(6, Kind.SWAPPED_IN, 0, queue="swapped")
    finding = found(with_event(true_run(), passed), "no_admission_past_refused_head")
    assert finding.verdict is Verdict.HELD


# -- 6 every_request_ends_once --------------------------------------------------------------------


def test_every_request_ends_once_with_a_second_end_is_broken() -> None:
    trace = with_event(true_run(), Event(6, Kind.FINISHED, 0))
    assert_broken(trace, "every_request_ends_once", 4, request_id="1", ends=2)


def test_every_request_ends_once_with_no_end_is_broken() -> None:
    trace = with_changed(true_run(), Kind.FINISHED, lambda event: [])
    assert_broken(trace, "every_request_ends_once", 4, request_id="1", ends=0)


def with_request(trace: Trace, index: int, **values: Any) -> Trace:
    """The run with another outcome of one request."""
    rows = list(trace.request_rows)
    rows[index] = rows[index]._replace(**values)
    return replace(trace, request_rows=rows)


def test_every_request_ends_once_with_one_left_behind_is_broken() -> None:
    trace = with_request(true_run(), 1, state=State.SWAPPED)
    assert_broken(trace, "every_request_ends_once", None, request_id="2", outcome="swapped")


@pytest.mark.parametrize("num_output_tokens", [4, 6])
def test_every_request_ends_once_with_a_wrong_number_of_tokens_is_broken(
        num_output_tokens: int) -> None:
    trace = with_request(true_run(), 0, num_output_tokens=num_output_tokens)
    assert_broken(trace, "every_request_ends_once", 4, num_output_tokens=num_output_tokens)


@pytest.mark.parametrize("end", [
    End(Outcome.STUCK, 50, None, 0),
    End(Outcome.ABORTED, 50, None, 0),
    End(Outcome.ABORTED, 50, Cause(Limit.CPU_BLOCKS, 1, 0), 0),
    End(Outcome.STEP_LIMIT, 50),
])
def test_every_request_ends_once_if_a_run_does_not_say_why_it_ended_is_broken(end: End) -> None:
    """A stuck run of 50 steps: not so without a cause, nor aborted by nobody, nor cut at 1,000."""
    trace = run(make_requests(1, prompt_len=9), num_gpu_blocks=2)
    assert found(trace, "every_request_ends_once").verdict is Verdict.HELD
    assert_broken(replace(trace, end=end), "every_request_ends_once", 50,
                  outcome=end.outcome.value)


# -- 7 every_refusal_has_a_cause ------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "step"), [(Kind.SWAPPED_OUT, 3), (Kind.REFUSED, 4)])
@pytest.mark.parametrize("cause", [None, Cause(Limit.GPU_BLOCKS, 1, 1)])
def test_every_refusal_has_a_cause_without_a_shortage_is_broken(
        kind: Kind, step: int, cause: Cause | None) -> None:
    trace = with_changed(true_run(), kind, lambda event: [event._replace(cause=cause)])
    assert_broken(trace, "every_refusal_has_a_cause", step, kind=kind.value)


def test_every_refusal_has_a_cause_if_nobody_says_no_to_the_swapped_is_broken() -> None:
    trace = with_changed(true_run(), Kind.REFUSED, lambda event: [])
    assert_broken(trace, "every_refusal_has_a_cause", 4, queue="swapped", left=1)


def test_every_refusal_has_a_cause_if_nobody_says_no_to_the_waiting_is_broken() -> None:
    trace = with_changed(run(make_requests(1, prompt_len=9), num_gpu_blocks=2), Kind.REFUSED,
                         lambda event: [] if event.step == 7 else [event])
    assert_broken(trace, "every_refusal_has_a_cause", 7, queue="waiting", left=1)


# -- 8 true_length_not_read, 9 deterministic_csv --------------------------------------------------


def test_true_length_not_read_by_one_who_peeks_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one seat, 3 is let in first; with the order of lengths turned round, 1 would be."""
    monkeypatch.setitem(schedulers(), "peeking", PeekingScheduler)
    trace = run(make_requests(3, output_len=[9, 8, 7]), scheduler="peeking", max_num_seqs=1)
    assert [row.first_scheduled_step for row in trace.request_rows] == [15, 7, 0]
    assert_broken(trace, "true_length_not_read", 0, table="events", longer=3)


@pytest.mark.parametrize("table", ["steps", "events", "queues", "spans", "leases"])
def test_true_length_not_read_looks_at_each_table(table: str) -> None:
    trace = true_run()
    doctored = {
        "steps": with_step(trace, 1, num_running=3),
        "events": with_event(trace, Event(1, Kind.EVICTED, 0)),
        "queues": replace(trace, queue_edits=trace.queue_edits[1:]),
        "spans": replace(trace, span_rows=[s for s in trace.span_rows if s.from_step]),
        "leases": replace(trace, lease_rows=[
            *trace.lease_rows, TableLease("gpu", 1, [0], [1], 2, False)]),
    }
    assert_broken(doctored[table], "true_length_not_read", int(table not in ("queues", "spans")),
                  table=table)


@pytest.mark.parametrize("table", ["steps", "events", "spans", "leases", "requests"])
def test_deterministic_csv_looks_at_each_table(table: str) -> None:
    trace = true_run()
    doctored = {
        "steps": with_step(trace, 1, num_running=3),
        "events": with_event(trace, Event(1, Kind.EVICTED, 0)),
        "spans": replace(trace, span_rows=trace.span_rows[1:]),
        "leases": replace(trace, lease_rows=trace.lease_rows[1:]),
        "requests": with_request(trace, 0, num_swaps=9),
    }
    assert_broken(doctored[table], "deterministic_csv", None, table=table)


def test_reruns_leave_the_run_as_it_was() -> None:
    scenario = make_scenario(make_requests(2))
    trace = simulate(scenario)
    for each in RERUNS:
        each.examine(trace)
    assert trace == simulate(scenario)
    assert trace.scenario is scenario

"""The record of a run: it tiles each request's life, agrees with itself, grows with changes."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings

from core import Scenario, Trace, simulate
from core.schedulers import schedulers
from core.schedulers.orca_support import ReservingEngine
from core.trace import Kind, Outcome, State
from tests.conftest import make_requests, make_scenario, run
from tests.strategies import scenarios

ENDS = (State.FINISHED, State.IGNORED, State.ABORTED)


def end_of_picture(trace: Trace) -> int:
    """The step behind the last one: that in which an engine dies has no row, but is one."""
    return trace.num_steps + (trace.end.outcome is Outcome.ABORTED)


@settings(deadline=None)
@given(scenarios())
def test_spans_tile_the_life_of_each_request(scenario: Scenario) -> None:
    """From its arrival to its end, or to the end of the run, without gap or overlap."""
    trace = simulate(scenario)
    lives = defaultdict(list)
    for span in trace.span_rows:
        lives[span.request].append(span)
    arrived = {e.request: e.step for e in trace.event_rows if e.kind is Kind.ARRIVED}
    for index, request in enumerate(scenario.requests):
        if index not in arrived:
            assert index not in lives
            continue
        stays = lives[index]
        assert stays[0].from_step == arrived[index]
        assert scenario.arrives_in_seconds or arrived[index] == request.arrival_step
        for before, after in pairwise(stays):
            assert before.to_step == after.from_step
        assert all(span.from_step < span.to_step for span in stays if span.state not in ENDS)
        assert [span.state for span in stays if span.state in ENDS] == (
            [stays[-1].state] if stays[-1].state in ENDS else [])
        row = trace.request_rows[index]
        if row.state in ENDS:
            assert (stays[-1].state, stays[-1].from_step) == (row.state, stays[-1].to_step)
        else:
            assert stays[-1].to_step == end_of_picture(trace)


@settings(deadline=None)
@given(scenarios())
def test_spans_and_requests_agree_on_the_tokens(scenario: Scenario) -> None:
    """The tokens of the prefill and decode stays are those computed or found in the cache."""
    trace = simulate(scenario)
    tokens: dict[int, int] = defaultdict(int)
    for span in trace.span_rows:
        if span.state in (State.PREFILL, State.DECODE):
            tokens[span.request] += span.num_tokens
    for index, row in enumerate(trace.request_rows):
        assert tokens[index] == row.num_computed_tokens + row.num_cached_tokens


@settings(deadline=None)
@given(scenarios())
def test_leases_are_what_the_free_counts_say(scenario: Scenario) -> None:
    """Free blocks and blocks on lease are always as many in sum (a parked one counts as free)."""
    trace = simulate(scenario)
    held: dict[tuple[str, int], set[int]] = defaultdict(set)
    for lease in trace.leases.itertuples():
        for step in range(lease.from_step, lease.to_step):
            held[lease.device, step].add(lease.block_id)
    for device, name in (("gpu", "free_gpu_blocks"), ("cpu", "free_cpu_blocks")):
        free = trace.steps[name].tolist()
        sums = {count + len(held[device, step]) for step, count in enumerate(free)}
        assert len(sums) <= 1, device


@settings(deadline=None)
@given(scenarios())
def test_queue_edits_replayed_are_what_the_counts_say(scenario: Scenario) -> None:
    """The queues' lengths and the number of requests served, in every step."""
    trace = simulate(scenario)
    queues: dict[str, list[int]] = {
        "waiting": [], "running": [], "swapped": [], "scheduled": []}
    edits = iter(trace.queue_edits)
    edit = next(edits, None)
    for step, row in enumerate(trace.step_rows):
        while edit is not None and edit.step <= step:
            end = edit.position + edit.removed
            queues[edit.queue][edit.position : end] = edit.inserted
            edit = next(edits, None)
        assert [len(queues[name]) for name in ("waiting", "running", "swapped", "scheduled")] == [
            row.num_waiting, row.num_running, row.num_swapped, row.num_scheduled]
        everyone = queues["waiting"] + queues["running"] + queues["swapped"]
        assert len(everyone) == len(set(everyone))


@settings(deadline=None)
@given(scenarios())
def test_events_are_in_order_of_their_steps(scenario: Scenario) -> None:
    steps = [event.step for event in simulate(scenario).event_rows]
    assert steps == sorted(steps)


@pytest.mark.parametrize("scheduler", schedulers())
def test_twice_the_output_without_pressure_adds_no_row_but_steps_and_blocks(
        scheduler: str) -> None:
    """The record grows with what happens: three requests that decode for 40 steps instead of 20
    add 20 step rows and the blocks for their tokens, and nothing else."""
    short, long = (
        run(make_requests(3, output_len=length), scheduler=scheduler, num_gpu_blocks=64,
            bypass_config_checks=True)
        for length in (20, 40))
    assert long.num_steps - short.num_steps == 20
    assert len(long.event_rows) == len(short.event_rows)
    assert len(long.span_rows) == len(short.span_rows)
    assert len(long.queue_edits) == len(short.queue_edits)
    assert len(long.lease_rows) == len(short.lease_rows)
    if not issubclass(schedulers()[scheduler], ReservingEngine):  # these hold them all along
        assert len(long.leases) - len(short.leases) == 3 * 20 / 4


def test_rows_of_a_run_do_not_grow_with_steps_times_requests() -> None:
    """Thirty requests that wait behind one that runs for 300 steps, refused in each."""
    scenario = make_scenario(make_requests(31, output_len=[300] + [1] * 30), num_gpu_blocks=100,
                             scheduler="article_repaired", max_num_seqs=1, max_model_len=400)
    trace = simulate(scenario)
    refused = [event for event in trace.event_rows if event.kind is Kind.REFUSED]
    assert len(trace.event_rows) - len(refused) < 31 * 5
    assert len(refused) <= trace.num_steps
    assert len(trace.span_rows) <= 31 * 4


def test_request_that_arrives_after_the_end_is_not_in_the_picture() -> None:
    """Three steps are made; who comes at step 3 or later was never seen."""
    trace = run(make_requests(3, output_len=9, arrival_step=[2, 3, 4]), max_steps=3)
    assert {span.request for span in trace.span_rows} == {0}
    assert [row.state for row in trace.request_rows] == [
        State.DECODE, State.WAITING, State.WAITING]


def test_request_that_arrives_after_the_engine_died_is_not_aborted() -> None:
    """With two blocks and no swap space the engine dies in step 3 (see test_article.py)."""
    requests = make_requests(4, prompt_len=1, output_len=5, arrival_step=[0, 0, 3, 4])
    trace = run(requests, num_gpu_blocks=2, num_cpu_blocks=0)
    assert trace.end.step == 3
    assert [row.state for row in trace.request_rows] == [
        State.ABORTED, State.ABORTED, State.ABORTED, State.WAITING]


def test_tables_are_made_once() -> None:
    trace = run()
    for name in ("steps", "events", "spans", "leases", "requests"):
        assert getattr(trace, name) is getattr(trace, name)

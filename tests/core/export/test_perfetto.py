"""The Chrome trace: the format's rules on random runs, and that it says what the tables say."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings

from core import Scenario, Trace, simulate
from core.cost.machine import Machine
from core.export.perfetto import (
    ENGINE,
    INSTANTS,
    REQUESTS,
    STEP_US,
    STEPS,
    perfetto_json,
    perfetto_trace,
)
from core.trace import State
from tests.conftest import make_requests, make_scenario, run
from tests.strategies import scenarios

Json = dict[str, Any]


def events(trace: Trace, phase: str) -> list[Json]:
    """The events of a phase, such as X for slices."""
    return [e for e in perfetto_trace(trace)["traceEvents"] if e["ph"] == phase]


def in_seconds(scenario: Scenario) -> Scenario:
    """The scenario on a machine's clock."""
    return scenario.model_copy(update={"clock": "seconds", "machine": Machine()})


def pressed(scheduler: str = "vllm_v0", **knobs: Any) -> Trace:
    """Three requests that outgrow 5 blocks of 4, so that some are preempted."""
    return run(make_requests(3, prompt_len=4, output_len=9), scheduler=scheduler,
               num_gpu_blocks=5, max_model_len=20, **knobs)


@settings(max_examples=60, deadline=None)
@given(scenarios())
def test_slices_of_a_track_nest_and_never_overlap(scenario: Scenario) -> None:
    check_slices(simulate(scenario))


@pytest.mark.parametrize("scheduler", ["article", "vllm_v0", "vllm_v1"])
def test_slices_on_a_machine_clock_nest_and_never_overlap(scheduler: str) -> None:
    asked = make_requests(6, prompt_len=9, output_len=9,
                          arrival_s=[0.0, 0.001, 0.002, 0.003, 5.0, 5.0])
    trace = simulate(in_seconds(make_scenario(asked, scheduler=scheduler)))
    check_slices(trace)
    assert perfetto_trace(trace)["otherData"]["microseconds_per_step"] is None
    last = max(e["ts"] + e["dur"] for e in events(trace, "X"))
    assert last == round(trace.end_s(trace.num_steps - 1) * 1e6)


def us(trace: Trace, time_s: float) -> int:
    """A time of the tables in whole microseconds."""
    return round(time_s * (STEP_US if trace.scenario.clock == "step" else 1_000_000))


def check_slices(trace: Trace) -> None:
    """Two slices of a track are apart, or one lies in the other and came later in the file."""
    tracks = defaultdict(list)
    for event in events(trace, "X"):
        assert type(event["ts"]) is int
        assert type(event["dur"]) is int
        assert event["dur"] >= 0
        tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for slices in tracks.values():
        open_ends: list[int] = []
        for start, end in slices:
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert all(end <= other for other in open_ends)
            open_ends.append(end)


@settings(max_examples=60, deadline=None)
@given(scenarios())
def test_events_are_in_order_of_time_with_known_fields(scenario: Scenario) -> None:
    trace = simulate(scenario)
    written = perfetto_trace(trace)["traceEvents"]
    timed = [e for e in written if e["ph"] != "M"]
    assert all(before["ts"] <= after["ts"] for before, after in pairwise(timed))
    assert written[len(written) - len(timed) :] == timed  # names first
    for event in written:
        assert {"ph", "name", "pid", "tid", "args"} <= set(event)
        assert event["ph"] in "MXCi"
        assert event["ph"] != "i" or event["s"] == "t"
    json.loads(perfetto_json(trace), parse_constant=lambda text: pytest.fail(text))


@settings(max_examples=60, deadline=None)
@given(scenarios())
def test_counters_hold_the_numbers_of_the_table_of_steps(scenario: Scenario) -> None:
    trace = simulate(scenario)
    values: dict[str, list[Json]] = {}
    for name in ("queues", "GPU blocks", "CPU blocks"):
        changes = [(e["ts"], e["args"]) for e in events(trace, "C") if e["name"] == name]
        assert len({ts for ts, _ in changes}) == len(changes)
        values[name] = [[v for ts, v in changes if ts <= us(trace, trace.start_s(step))][-1]
                        for step in range(trace.num_steps)]
    for step, row in enumerate(trace.steps.itertuples()):
        assert values["queues"][step] == {
            "waiting": row.num_waiting, "running": row.num_running, "swapped": row.num_swapped}
        held = trace.leases.query("from_step <= @step < to_step").groupby("device")["block_id"]
        used = held.nunique()
        assert values["GPU blocks"][step] == {
            "used": used.get("gpu", 0), "free": row.free_gpu_blocks}
        assert values["CPU blocks"][step] == {
            "used": used.get("cpu", 0), "free": row.free_cpu_blocks}


@settings(max_examples=60, deadline=None)
@given(scenarios())
def test_every_stay_in_a_state_has_its_slice_within_the_requests_life(scenario: Scenario) -> None:
    trace = simulate(scenario)
    slices = [e for e in events(trace, "X") if e["pid"] == REQUESTS]
    states = sorted((e["tid"] - 1, e["name"], e["ts"], e["ts"] + e["dur"])
                    for e in slices if e["cat"] == "state")
    ends = (State.FINISHED, State.IGNORED)
    lasting = trace.spans[(trace.spans.to_step > trace.spans.from_step)
                          & ~trace.spans.state.isin(ends)]
    index = {r.request_id: i for i, r in enumerate(scenario.requests)}
    assert states == sorted(
        (index[s.request_id], s.state, us(trace, s.start_s), us(trace, s.end_s))
        for s in lasting.itertuples())
    lives = {e["tid"]: (e["ts"], e["ts"] + e["dur"]) for e in slices if e["cat"] == "request"}
    for event in slices:
        start, end = lives[event["tid"]]
        assert start <= event["ts"]
        assert event["ts"] + event["dur"] <= end


def test_steps_have_a_slice_each_with_its_numbers() -> None:
    trace = pressed()
    steps = [e for e in events(trace, "X") if (e["pid"], e["tid"]) == (ENGINE, STEPS)]
    assert [(e["name"], e["ts"], e["dur"]) for e in steps] == [
        (f"step {i}", i * STEP_US, STEP_US) for i in range(trace.num_steps)]
    assert [e["args"]["num_batched_tokens"] for e in steps] == list(
        trace.steps.num_batched_tokens)


@pytest.mark.parametrize(("mode", "kind"), [("recompute", "preempted"), ("swap", "swapped_out")])
def test_preemptions_are_instants_with_their_cause(mode: str, kind: str) -> None:
    trace = pressed(preemption_mode=mode)
    found = [(e["tid"] - 1, e["args"]["step"], e["args"]["limit"], e["args"]["needed"],
              e["args"]["available"]) for e in events(trace, "i") if e["name"] == kind]
    assert found
    assert found == [(e.request, e.step, e.cause.limit.value, e.cause.needed, e.cause.available)
                     for e in trace.event_rows if e.kind.value == kind and e.cause is not None]


def test_all_shown_decisions_are_instants_and_no_others() -> None:
    trace = pressed(preemption_mode="swap")
    assert sorted(e["name"] for e in events(trace, "i")) == sorted(
        e.kind.value for e in trace.event_rows if e.kind in INSTANTS)


def test_finished_is_marked_where_the_life_ends() -> None:
    trace = pressed()
    lives = {e["tid"]: e["ts"] + e["dur"] for e in events(trace, "X") if e["cat"] == "request"}
    finished = {e["tid"]: e["ts"] for e in events(trace, "i") if e["name"] == "finished"}
    assert finished == lives


def test_tracks_are_named_after_requests_and_processes() -> None:
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events(pressed(), "M")
             if e["name"] in ("thread_name", "process_name")}
    assert names == {(ENGINE, 0): "engine", (ENGINE, STEPS): "steps", (REQUESTS, 0): "requests",
                     (REQUESTS, 1): "1", (REQUESTS, 2): "2", (REQUESTS, 3): "3"}


def test_file_holds_the_scenario_that_made_it() -> None:
    trace = pressed()
    other = json.loads(perfetto_json(trace))["otherData"]
    assert Scenario.parse(other["scenario"]) == trace.scenario
    assert other["outcome"] == "finished"


def test_same_scenario_gives_the_same_bytes() -> None:
    assert perfetto_json(pressed()) == perfetto_json(pressed())


def test_run_without_requests_has_no_slices() -> None:
    assert events(run([]), "X") == []

"""V1 against the recordings of vllm 0.33.0: every field of every step of every scenario."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import simulate
from core.recorded import first_difference, recorded_trace, scenario_from_recorded
from core.trace import Kind
from tests.conftest import queue_after

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"


def recordings() -> Iterator[dict[str, Any]]:
    for path in sorted(GOLDEN.glob("*.json.gz")):
        yield from json.loads(gzip.decompress(path.read_bytes()))["traces"]


RECORDINGS = {trace["scenario"]["name"]: trace for trace in recordings()}


def test_recordings_of_v1_are_all_there() -> None:
    assert len(RECORDINGS) == 112
    assert sum(len(trace["steps"]) for trace in RECORDINGS.values()) == 6672


@pytest.mark.parametrize("name", RECORDINGS)
def test_v1_replays_the_recorded_run_in_every_field(name: str) -> None:
    recorded = RECORDINGS[name]
    ours = recorded_trace(simulate(scenario_from_recorded(recorded["scenario"], "v1")))
    assert first_difference(ours, recorded) is None


def test_a_recording_with_one_other_block_is_told_from_ours() -> None:
    name = "v1-02-fcfs-pressure-s1-000"
    recorded = json.loads(json.dumps(RECORDINGS[name]))
    recorded["steps"][16]["block_tables"]["r1"][-1] += 1
    ours = recorded_trace(simulate(scenario_from_recorded(recorded["scenario"], "v1")))
    difference = first_difference(ours, recorded)
    assert difference is not None
    assert (difference.step, difference.field) == (16, "block_tables")


@pytest.mark.parametrize("field", ["stuck", "truncated", "frontend_would_reject",
                                   "startup_would_reject"])
def test_a_recording_with_another_end_is_told_from_ours(field: str) -> None:
    name = next(name for name, trace in RECORDINGS.items() if trace.get(field))
    recorded = {key: value for key, value in RECORDINGS[name].items() if key != field}
    ours = recorded_trace(simulate(scenario_from_recorded(recorded["scenario"], "v1")))
    difference = first_difference(ours, recorded)
    assert difference is not None
    assert difference.field == field


@pytest.mark.parametrize("name", RECORDINGS)
def test_v1_who_gets_no_token_in_a_recorded_run_has_one_verdict(name: str) -> None:
    """Its own, or that of its whole queue, or it stands behind somebody who was refused."""
    trace = simulate(scenario_from_recorded(RECORDINGS[name]["scenario"], "v1"))
    for step in range(trace.num_steps):
        events = [e for e in trace.event_rows if e.step == step]
        own = [trace.request_id(e.request) for e in events
               if e.kind in (Kind.REFUSED, Kind.PREEMPTED)]
        held = [e.queue for e in events if e.kind is Kind.HELD]
        served = queue_after(trace, "scheduled", step)
        assert len(own) == len(set(own))
        assert not set(own) & set(served)
        for queue in ("waiting", "running"):
            behind_refused = queue in held
            for request_id in queue_after(trace, queue, step):
                assert request_id in served or request_id in own or behind_refused
                behind_refused |= any(e.kind is Kind.REFUSED and e.queue == queue
                                      and trace.request_id(e.request) == request_id
                                      for e in events)
        for event in events:
            if event.kind in (Kind.REFUSED, Kind.PREEMPTED, Kind.TAKEN_BACK):
                assert event.cause is not None
                assert event.cause.needed is not None and event.cause.available is not None
                assert event.cause.needed > event.cause.available
                assert event.line is not None

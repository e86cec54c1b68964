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

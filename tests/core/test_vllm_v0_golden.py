"""V0 against the recordings of vllm 0.6.6.post1: every field of every step of every scenario."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from core import simulate
from core.recorded import first_difference, recorded_trace, scenario_from_recorded

GOLDEN = Path(__file__).parents[1] / "golden" / "v0"


def recordings() -> Iterator[dict[str, Any]]:
    for path in sorted(GOLDEN.glob("*.json.gz")):
        yield from json.loads(gzip.decompress(path.read_bytes()))["traces"]


RECORDINGS = {trace["scenario"]["name"]: trace for trace in recordings()}


def ours(name: str) -> dict[str, Any]:
    scenario = scenario_from_recorded(RECORDINGS[name]["scenario"], "v0")
    return recorded_trace(simulate(scenario))


def test_recordings_of_v0_are_all_there() -> None:
    assert len(RECORDINGS) == 158
    assert sum(len(trace["steps"]) for trace in RECORDINGS.values()) == 8805


@pytest.mark.parametrize("name", RECORDINGS)
def test_v0_replays_the_recorded_run_in_every_field(name: str) -> None:
    assert first_difference(ours(name), RECORDINGS[name]) is None


@pytest.mark.parametrize(("name", "step", "field", "other"), [
    ("v0-micro-two-victims-swap", 1, "block_tables", {}),
    ("v0-micro-two-victims-swap", 2, "swapped", ["r2", "r3", "r1"]),
    ("v0-micro-two-victims-swap", 3, "blocks_to_swap_in", None),
    ("v0-micro-priority-swap-dies", 3, "priority_preempted", None),
    ("v0-micro-prefix-sticky", 1, "cached_tokens", {}),
])
def test_recording_with_another_decision_is_told_from_ours(
        name: str, step: int, field: str, other: Any) -> None:
    recorded = deepcopy(RECORDINGS[name])
    real = recorded["steps"][step].pop(field)
    if other is not None:
        recorded["steps"][step][field] = other
    assert first_difference(ours(name), recorded) == (step, field, real, other)


@pytest.mark.parametrize("field", ["stuck", "abort_step", "abort_partial", "final", "aborted"])
def test_recording_with_another_end_is_told_from_ours(field: str) -> None:
    name = next(name for name, trace in RECORDINGS.items() if trace.get(field))
    recorded = {**RECORDINGS[name], field: None}
    difference = first_difference(ours(name), recorded)
    assert difference is not None
    assert (difference.step, difference.field) == (None, field)


def test_scenario_of_our_own_trace_reads_back_as_the_same_scenario() -> None:
    scenario = scenario_from_recorded(RECORDINGS["v0-micro-prefix-evict"]["scenario"], "v0")
    written = recorded_trace(simulate(scenario))["scenario"]
    assert scenario_from_recorded(json.loads(json.dumps(written)), "v0") == scenario


def test_trace_of_a_scheduler_without_recordings_is_refused() -> None:
    scenario = scenario_from_recorded(RECORDINGS["v0-micro-free-list"]["scenario"], "v0")
    article = simulate(scenario.model_copy(update={"scheduler": "article"}))
    with pytest.raises(ValueError, match="vllm_v0 and vllm_v1 only"):
        recorded_trace(article)

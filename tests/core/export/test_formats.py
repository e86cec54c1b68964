"""The kinds of file that a run can be taken away as."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core import Scenario, ScenarioError, simulate
from core.export.formats import SCENARIO_EXPORTS, TRACE_EXPORTS
from core.recorded import first_difference
from core.replay import read_recording, replay
from core.workloads import read, to_requests
from tests.conftest import make_requests, make_scenario

SCHEDULERS = ("article", "vllm_v0", "vllm_v1")


def scenario(scheduler: str = "vllm_v1") -> Scenario:
    """Three requests."""
    return make_scenario(make_requests(3, prompt_len=[5, 9, 3], arrival_step=[0, 1, 1]),
                         scheduler=scheduler)


@pytest.mark.parametrize("name", TRACE_EXPORTS)
def test_export_of_the_same_run_gives_the_same_bytes(name: str) -> None:
    make = TRACE_EXPORTS[name].make
    assert make(simulate(scenario())) == make(simulate(scenario()))


def test_export_suffixes_differ_from_each_other() -> None:
    every = [e.suffix for e in (*TRACE_EXPORTS.values(), *SCENARIO_EXPORTS.values())]
    assert len(set(every)) == len(every)


def test_export_scenario_gives_the_scenario_back() -> None:
    assert Scenario.from_json(SCENARIO_EXPORTS["scenario"].make(scenario())) == scenario()


@pytest.mark.parametrize("scheduler", ["vllm_v0", "vllm_v1"])
def test_export_recorded_is_a_recording_that_replays_identically(
        scheduler: str, tmp_path: Path) -> None:
    path = tmp_path / "recording.json"
    path.write_bytes(TRACE_EXPORTS["recorded"].make(simulate(scenario(scheduler))))
    report = replay(read_recording(path))
    assert (report.num_traces, report.num_identical) == (1, 1)
    assert report.num_steps > 3


def test_export_recorded_of_another_scheduler_is_refused() -> None:
    with pytest.raises(ScenarioError, match="vllm_v0 or vllm_v1"):
        TRACE_EXPORTS["recorded"].make(simulate(scenario("article")))


def test_export_recorded_can_be_read_as_a_workload() -> None:
    recorded = json.loads(TRACE_EXPORTS["recorded"].make(simulate(scenario())))
    trace = recorded["traces"][0]
    assert to_requests(read(json.dumps(trace).encode())) == scenario().requests
    assert first_difference(trace, trace) is None


def test_export_command_has_one_for_each_version() -> None:
    lines = SCENARIO_EXPORTS["command"].make(scenario()).decode().splitlines()
    assert sum(line.startswith("vllm serve ") for line in lines) == 2
    assert [line for line in lines if line.startswith("# for")] == [
        "# for vLLM 0.6.6", "# for vLLM 0.33"]

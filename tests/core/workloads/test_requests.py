"""From rows to requests, in steps and in seconds; and out and in again."""

from __future__ import annotations

import pytest

from core import Scenario, simulate
from core.export.csv import table_csv, tables_csv
from core.workloads import Workload, WorkloadError, WorkloadRow, read, to_requests
from tests.conftest import make_scenario
from tests.core.workloads.files import workload


def at(*times: float | None) -> Workload:
    """Requests at these seconds."""
    return Workload("test", "Test", tuple(
        WorkloadRow(f"r{i}", 10, 4, time) for i, time in enumerate(times)))


def test_to_requests_with_seconds_per_step_rounds_down_to_the_step() -> None:
    requests = to_requests(at(0.0, 0.0199, 0.02, 0.05), 0.02)
    assert [r.arrival_step for r in requests] == [0, 0, 1, 2]
    assert {r.arrival_s for r in requests} == {None}


def test_to_requests_on_the_edge_of_a_step_belongs_to_the_step() -> None:
    """0.3 / 0.1 and 0.7 / 0.1 are a hair below 3 and 7 as floating-point numbers."""
    assert [r.arrival_step for r in to_requests(at(0.3, 0.7), 0.1)] == [3, 7]


def test_to_requests_without_seconds_per_step_keeps_seconds() -> None:
    requests = to_requests(at(0.25, 1.5))
    assert [(r.arrival_s, r.arrival_step) for r in requests] == [(0.25, 0), (1.5, 0)]


def test_to_requests_without_arrivals_come_at_once() -> None:
    assert [(r.arrival_s, r.arrival_step) for r in to_requests(at(None, None), 0.02)] == [
        (None, 0), (None, 0)]


def test_to_requests_in_steps_stay_in_steps() -> None:
    assert [r.arrival_step for r in to_requests(workload("plain.csv"), 0.5)] == [0, 2]


def test_to_requests_keeps_every_field() -> None:
    _, second = to_requests(workload("plain.csv"))
    assert second.model_dump(exclude_defaults=True) == {
        "request_id": "b", "arrival_step": 2, "prompt_len": 20, "output_len": 4, "priority": -1,
        "prefix_id": "system", "prefix_len": 16}
    first = to_requests(workload("mooncake.jsonl"))[0]
    assert (first.prefix_hashes, first.prefix_hash_block) == ((0, 1, 2), 512)


def test_to_requests_too_late_is_refused_and_says_what_to_do() -> None:
    with pytest.raises(WorkloadError, match="more seconds per step"):
        to_requests(at(0.0, 1e6), 0.01)


def test_to_requests_of_no_rows_is_refused() -> None:
    with pytest.raises(WorkloadError, match="at least one row"):
        to_requests(at())


def test_to_requests_of_rows_that_no_request_can_be_names_them() -> None:
    content = (b"request_id,prompt_len,output_len,prefix_id,prefix_hashes,prefix_hash_block\n"
               b"a,9,1,p,0,4\nb,9,1,,0,4\nc,9,1,,0 1 2 3,4\n")
    with pytest.raises(WorkloadError) as refused:
        to_requests(read(content))
    assert [fault.field for fault in refused.value.faults] == [
        "a: prefix_hashes", "c: prefix_hashes"]


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf")])
def test_to_requests_with_senseless_steps_is_refused(wrong: float) -> None:
    with pytest.raises(WorkloadError, match="seconds_per_step"):
        to_requests(at(0.0), wrong)


@pytest.mark.parametrize("fields", [
    {"arrival_step": 3}, {"priority": -2}, {"prefix_id": "p", "prefix_len": 5},
    {"prefix_hashes": [0, 4], "prefix_hash_block": 6}, {"arrival_s": 0.1},
])
def test_scenario_out_and_in_as_json_gives_the_same_requests(fields: dict[str, object]) -> None:
    asked = [{"request_id": "a", "prompt_len": 9, "output_len": 2},
             {"request_id": "b", "prompt_len": 9, "output_len": 2, **fields}]
    scenario = make_scenario(asked)
    assert to_requests(read(scenario.to_json().encode())) == scenario.requests


@pytest.mark.parametrize("fields", [
    {"arrival_step": 3}, {"priority": -2}, {"prefix_id": "p", "prefix_len": 5},
    {"prefix_hashes": [0, 4], "prefix_hash_block": 6}, {"arrival_s": 0.1},
    {"request_id": "=1+1"}, {"request_id": "-"}, {"prefix_id": "@p, \"q\"", "prefix_len": 9},
])
def test_requests_table_out_and_in_again_gives_identical_tables(fields: dict[str, object]) -> None:
    asked = [{"request_id": "a", "prompt_len": 9, "output_len": 2},
             {"request_id": "b", "prompt_len": 9, "output_len": 2, **fields},
             {"prompt_len": 9, "output_len": 2, **fields, "request_id": "c"}]
    scenario = make_scenario(asked, scheduler="vllm_v1", enable_prefix_caching=True)
    trace = simulate(scenario)
    shared = trace.requests.num_cached_tokens.sum()
    assert bool(shared) == any(name.startswith("prefix") for name in fields)
    requests = to_requests(read(table_csv(trace, "requests")))
    again = simulate(Scenario.parse({**scenario.model_dump(exclude_defaults=True),
                                     "requests": requests}))
    assert tables_csv(again) == tables_csv(trace)

"""The serving metrics, worked out by hand on a run whose steps last what the test says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from core import Scenario, Trace, simulate
from core.cost.machine import Machine
from core.metric_names import COUNTS, DURATIONS, INSTANTS, STATISTICS, TOTALS, time_unit
from core.metrics import Metrics, Objectives, metrics
from tests.conftest import make_requests, make_scenario, run, two_that_outgrow_their_blocks
from tests.strategies import scenarios

PAUSED = {"preemption_mode": "recompute"}


def half_second_steps(trace: Trace) -> Trace:
    """The same run; every step begins on the second and is over half a second later."""
    steps = trace.num_steps
    return replace(trace, starts_s=[float(i) for i in range(steps)], durations_s=[0.5] * steps)


def two(objectives: Objectives | None = None, **knobs: Any) -> Metrics:
    """"1" gets its tokens in steps 0 to 4, "2" in 0, 1, 2, 5, 6 (see test_token_times.py)."""
    trace = two_that_outgrow_their_blocks("article_repaired", **{**PAUSED, **knobs})
    return metrics(half_second_steps(trace), objectives)


def test_instants_and_durations_of_requests_follow_their_definitions() -> None:
    rows = two().requests.set_index("request_id")
    assert rows.loc["1", ["arrival_s", "scheduled_s", "first_token_s", "last_token_s"]].tolist() \
        == [0.0, 0.0, 0.5, 4.5]
    assert rows.loc["2", "last_token_s"] == 6.5
    assert rows.queue_s.tolist() == [0.0, 0.0]
    assert rows.ttft_s.tolist() == [0.5, 0.5]
    assert rows.tpot_s.tolist() == [1.0, 1.5]  # 4 s and 6 s over four tokens
    assert rows.e2el_s.tolist() == [4.5, 6.5]
    assert rows.normalized_latency_s.tolist() == [0.9, 1.3]


def test_itl_is_every_gap_and_its_statistics_are_linear() -> None:
    found = two()
    assert sorted(found.itl_s) == [1, 1, 1, 1, 1, 1, 1, 3]
    row = found.summary.loc["itl_s"]
    assert row["mean"] == 10 / 8
    assert row["median"] == 1
    assert row["p90"] == pytest.approx(1 + 0.3 * 2)  # rank 6.3 of 0 to 7
    assert row["p99"] == pytest.approx(1 + 0.93 * 2)


def test_throughput_is_over_the_time_from_first_arrival_to_last_token() -> None:
    totals = two().totals
    assert totals["duration_s"] == 6.5
    assert totals["completed"] == 2
    assert totals["request_throughput"] == 2 / 6.5
    assert totals["output_throughput"] == 10 / 6.5
    assert totals["total_token_throughput"] == 12 / 6.5
    assert totals["max_concurrent_requests"] == 2


@pytest.mark.parametrize(("objectives", "kept"), [
    (Objectives(), 2), (Objectives(ttft_s=0.5), 2), (Objectives(ttft_s=0.4), 0),
    (Objectives(tpot_s=1.0), 1), (Objectives(ttft_s=0.5, tpot_s=1.4), 1),
    (Objectives(ttft_s=0.5, tpot_s=1.5), 2),
])
def test_goodput_counts_who_kept_every_objective(objectives: Objectives, kept: int) -> None:
    assert two(objectives).totals["request_goodput"] == kept / 6.5


def test_request_with_one_token_has_no_tpot_and_keeps_any() -> None:
    found = metrics(run(make_requests(1, output_len=1)), Objectives(tpot_s=0.001))
    assert np.isnan(found.requests.tpot_s[0])
    assert np.isnan(found.summary.loc["tpot_s", "mean"])
    assert found.totals["request_goodput"] == found.totals["request_throughput"] == 1


def test_counts_tell_recompute_from_swap() -> None:
    recomputed, swapped = two(), two(preemption_mode="swap")
    assert recomputed.requests.num_preemptions.tolist() == [0, 1]
    assert recomputed.totals["num_recomputed_tokens"] == 3
    assert recomputed.totals["num_swapped_blocks"] == 0
    assert swapped.requests.num_swaps.tolist() == [0, 1]
    assert swapped.totals["num_preemptions"] == 0
    assert swapped.totals["num_swapped_blocks"] == 2  # one block, out and back
    assert swapped.totals["swapped_bytes"] is None


def test_swapped_bytes_are_those_of_the_machines_blocks() -> None:
    scenario = two_that_outgrow_their_blocks("article_repaired").scenario
    for gpus in (1, 2):
        machine = Machine(model="Llama-2-7B", tensor_parallel=gpus)
        timed = simulate(scenario.model_copy(update={"clock": "seconds", "machine": machine}))
        assert metrics(timed).totals["swapped_bytes"] == 2 * 4 * 524_288  # all GPUs together


def test_compressed_blocks_count_as_small_as_they_crossed() -> None:
    requests = make_requests(2, prompt_len=11, output_len=8)
    found = metrics(run(requests, scheduler="article_repaired", num_gpu_blocks=6,
                        compress_swapped=True, compression_min_blocks=0, compression_ratio=3.0))
    assert found.totals["num_swapped_blocks"] == 2  # 3 blocks as 1, out and back


def test_kv_usage_and_fragmentation_are_means_over_time() -> None:
    # 1 of 8 blocks in steps 0 and 1, 2 in steps 2 and 3; 3, 4, 5, 6 tokens in them
    trace = run(make_requests(1, prompt_len=3, output_len=4), scheduler="article_repaired")
    totals = metrics(trace).totals
    assert totals["kv_usage_mean"] == pytest.approx((1 + 2 + 2 + 2) / 4 / 8)
    assert totals["kv_usage_max"] == 2 / 8
    longer = replace(trace, starts_s=[0.0, 9.0, 10.0, 11.0], durations_s=[9.0, 1.0, 1.0, 1.0])
    assert metrics(longer).totals["kv_usage_mean"] == pytest.approx((9 + 2 + 2 + 2) / 12 / 8)
    empty = [1 / 4, 4 / 8, 3 / 8, 2 / 8]
    assert totals["fragmentation_mean"] == pytest.approx(np.mean(empty))


def test_arrival_is_when_the_request_was_sent_not_when_a_step_began() -> None:
    requests = make_requests(2, arrival_s=[0.0, 0.3], output_len=3)
    trace = half_second_steps(run(requests))
    row = metrics(trace).requests.iloc[1]
    assert row.arrival_s == 0.3
    assert row.scheduled_s == 1.0
    assert row.queue_s == pytest.approx(0.7)
    assert row.ttft_s == pytest.approx(1.2)


def test_unfinished_requests_are_in_the_table_and_in_no_statistic() -> None:
    # the run is cut off after 4 steps, when "2" has 4 of its 9 tokens
    trace = run(make_requests(2, prompt_len=[4, 4], output_len=[2, 9]), max_steps=4)
    found = metrics(trace)
    assert found.totals["completed"] == 1
    assert found.requests.outcome.tolist() == ["finished", "decode"]
    assert np.isnan(found.requests.e2el_s[1])
    assert found.requests.ttft_s[1] == 1
    assert len(found.itl_s) == 1


def test_run_without_requests_has_no_rates() -> None:
    totals = metrics(run([])).totals
    assert totals["completed"] == 0
    assert totals["request_throughput"] is None
    assert totals["kv_usage_mean"] is None


def test_every_number_has_its_definition_and_every_definition_its_number() -> None:
    found = two()
    columns = [m.key for m in (*INSTANTS, *DURATIONS, *COUNTS) if m.key != "itl_s"]
    assert list(found.requests.columns) == ["request_id", "outcome", *columns, "prompt_len"]
    assert list(found.summary.index) == [m.key for m in DURATIONS]
    assert list(found.summary.columns) == list(STATISTICS)
    assert set(found.totals) == {m.key for m in TOTALS}
    assert all(m.name and m.definition for m in (*INSTANTS, *DURATIONS, *COUNTS, *TOTALS))
    assert [m.sort for m in (*INSTANTS, *DURATIONS)] == ["instant"] * 4 + ["duration"] * 6


def test_time_unit_is_steps_without_a_clock_in_seconds() -> None:
    trace = run(make_requests())
    assert time_unit(trace) == "steps"
    assert time_unit(half_second_steps(trace)) == "s"


@settings(max_examples=60, deadline=None)
@given(scenarios())
def test_metrics_of_any_run_hold_together(scenario: Scenario) -> None:
    found = metrics(simulate(scenario))
    done = found.requests[found.requests.outcome == "finished"]
    assert (done.queue_s >= 0).all()
    assert (done.ttft_s > 0).all()
    assert (done.e2el_s >= done.ttft_s).all()
    gaps = done.num_output_tokens.sum() - len(done)
    assert len(found.itl_s) == gaps
    assert found.itl_s.sum() == pytest.approx((done.e2el_s - done.ttft_s).sum())
    for key in ("kv_usage_mean", "kv_usage_max", "fragmentation_mean"):
        share = found.totals[key]
        assert share is None or 0 <= share <= 1


def test_metrics_of_a_scenario_are_the_same_again() -> None:
    scenario = make_scenario(make_requests(5, output_len=9), "article_repaired")
    one, other = metrics(simulate(scenario)), metrics(simulate(scenario))
    assert one.totals == other.totals
    assert one.requests.equals(other.requests)

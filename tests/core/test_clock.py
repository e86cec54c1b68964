"""The clock in seconds: what steps last, who arrives when, and what it leaves unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings

from core import Scenario, ScenarioError, Trace, simulate
from core.cost.machine import Machine
from core.cost.seconds import StepCost
from core.cost.work import StepWork, prefill_pairs
from core.schedulers import schedulers
from core.simulator import STUCK_AFTER
from core.trace import Kind, Outcome
from tests.conftest import ids_of, make_requests, make_scenario, two_that_outgrow_their_blocks
from tests.strategies import scenarios

MACHINE = Machine()
COST = StepCost(MACHINE, 4)


def in_seconds(scenario: Scenario, **machine: Any) -> Scenario:
    return scenario.model_copy(update={"clock": "seconds", "machine": Machine(**machine)})


def timed(requests: Iterable[dict[str, Any]], scheduler: str = "article_repaired",
          **knobs: Any) -> Trace:
    return simulate(in_seconds(make_scenario(requests, scheduler, **knobs)))


def seconds(num_tokens: int = 0, num_sequences: int = 0, **work: Any) -> float:
    """Of a step in which every sequence gets a token."""
    return COST.seconds(StepWork(num_tokens, num_sequences,
                                 **{"num_sampled": num_sequences, **work}))


# -- what a step lasts ---------------------------------------------------------------------------


def test_steps_of_one_request_last_its_prompt_then_one_token_behind_a_growing_context() -> None:
    trace = timed(make_requests(1, prompt_len=5, output_len=3))
    assert trace.durations_s == pytest.approx([
        seconds(5, 1, prefill_pairs=12.5),
        seconds(1, 1, decode_context=6),
        seconds(1, 1, decode_context=7),
    ])


def test_step_that_mixes_a_chunk_and_decodes_counts_both() -> None:
    # budget 8: step 0 gives "1" its 4; step 1 its decode and 7 of the 9 of "2"; step 2 the rest
    trace = timed(make_requests(2, prompt_len=[4, 9], output_len=9, arrival_step=[0, 1]),
                  "vllm_v1", max_num_batched_tokens=8, enable_chunked_prefill=True,
                  num_gpu_blocks=20)
    assert trace.durations_s is not None
    assert trace.durations_s[1] == pytest.approx(seconds(
        8, 2, num_sampled=1, prefill_pairs=prefill_pairs(7), decode_context=5))
    assert trace.durations_s[2] == pytest.approx(seconds(
        3, 2, prefill_pairs=prefill_pairs(2, 7), decode_context=6))


def test_step_with_a_prefix_hit_computes_only_what_was_not_found() -> None:
    # both share 8 tokens; "2" finds them in the cache and computes 4 behind them
    requests = make_requests(2, prompt_len=12, output_len=2, arrival_step=[0, 1], prefix_id="p",
                             prefix_len=8)
    trace = timed(requests, "vllm_v1", enable_prefix_caching=True, enable_chunked_prefill=True,
                  num_gpu_blocks=20)
    assert trace.durations_s is not None
    assert trace.durations_s[1] == pytest.approx(seconds(
        5, 2, prefill_pairs=prefill_pairs(4, 8), decode_context=13))


def test_step_pays_for_the_blocks_that_it_swaps_out_and_in() -> None:
    # step 3 swaps a request with 1 block out, a later one brings it back (see test_article.py)
    trace = simulate(in_seconds(two_that_outgrow_their_blocks("article").scenario))
    assert trace.durations_s is not None
    out, back = (next(e.step for e in trace.event_rows if e.kind is kind)
                 for kind in (Kind.SWAPPED_OUT, Kind.SWAPPED_IN))
    assert trace.durations_s[out] == pytest.approx(
        seconds(1, 1, decode_context=4) + COST.swap(1))
    assert trace.durations_s[back] - COST.swap(1) == pytest.approx(
        seconds(1, 1, decode_context=4))


def test_compressed_blocks_cross_the_link_small_and_cost_their_compression() -> None:
    requests = make_requests(2, prompt_len=11, output_len=8)
    knobs: dict[str, Any] = {"num_gpu_blocks": 6, "compress_swapped": True,
                             "compression_min_blocks": 0, "compression_ratio": 3.0}
    trace = timed(requests, **knobs)
    plain = timed(requests, **{**knobs, "compress_swapped": False})
    assert trace.durations_s is not None
    assert plain.durations_s is not None
    out = next(e for e in trace.event_rows if e.kind is Kind.SWAPPED_OUT)
    back = next(e for e in trace.event_rows if e.kind is Kind.SWAPPED_IN)
    assert (out.num_tokens, back.num_tokens) == (3, 1)
    rates, size = MACHINE.rates(), COST.block_bytes
    assert trace.durations_s[out.step] == pytest.approx(
        plain.durations_s[out.step] - COST.swap(3) + COST.swap(1) + 3 * size / rates.compress)
    assert trace.durations_s[back.step] == pytest.approx(
        plain.durations_s[back.step] - COST.swap(3) + COST.swap(1) + 3 * size / rates.decompress)


def test_steps_follow_each_other_without_gaps_while_there_is_work() -> None:
    trace = timed(make_requests(3, prompt_len=5, output_len=6, arrival_step=[0, 2, 3]))
    assert trace.starts_s is not None
    assert trace.durations_s is not None
    for step in range(1, trace.num_steps):
        assert trace.starts_s[step] == pytest.approx(trace.end_s(step - 1))


# -- arrivals ------------------------------------------------------------------------------------


def test_request_arrives_at_the_first_step_that_begins_then_or_later() -> None:
    first = seconds(4, 1, prefill_pairs=8)
    late = make_requests(3, output_len=9, arrival_s=[0.0, first / 2, first])
    trace = timed(late, num_gpu_blocks=20)
    assert ids_of(trace, Kind.ARRIVED, 0) == ["1"]
    assert ids_of(trace, Kind.ARRIVED, 1) == ["2", "3"]  # both by the end of step 0


def test_idle_engine_jumps_to_the_next_arrival_and_makes_no_steps_meanwhile() -> None:
    trace = timed(make_requests(2, output_len=1, arrival_s=[0.25, 100.0]))
    assert trace.num_steps == 2
    assert trace.starts_s == [0.25, 100.0]


def test_engine_in_which_nobody_moves_jumps_to_the_next_arrival() -> None:
    # with 2 usable blocks "1" can never be let in; "2" comes after 1000 s and waits behind it
    trace = timed(make_requests(2, prompt_len=[20, 4], arrival_s=[0.0, 1000.0]), "vllm_v1",
                  num_gpu_blocks=3, enable_chunked_prefill=True)
    assert trace.end.outcome is Outcome.STUCK
    assert trace.num_steps == 2 * STUCK_AFTER
    assert trace.starts_s is not None
    assert trace.starts_s[STUCK_AFTER - 1] < 1
    assert trace.starts_s[STUCK_AFTER] == 1000.0


def test_requests_that_arrive_together_come_in_the_order_of_the_list() -> None:
    trace = timed(make_requests(4, output_len=1, arrival_s=[0.5, 0.0, 0.5, 0.5]))
    assert ids_of(trace, Kind.ARRIVED) == ["2", "1", "3", "4"]


def test_arrivals_in_seconds_with_the_clock_in_steps_are_rounded_up_to_steps() -> None:
    trace = simulate(make_scenario(make_requests(3, arrival_s=[2.0, 2.1, 0.0])))
    arrived = {trace.request_id(e.request): e.step for e in trace.event_rows
               if e.kind is Kind.ARRIVED}
    assert arrived == {"1": 2, "2": 3, "3": 0}
    assert trace.starts_s is None


def test_request_that_arrives_after_the_last_step_is_not_in_the_picture() -> None:
    trace = timed(make_requests(2, output_len=50, arrival_s=[0.0, 1e6]), max_steps=3)
    assert {span.request for span in trace.span_rows} == {0}


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "field"), [
    ({"clock": "seconds"}, "machine"),
    ({"clock": "minutes"}, "clock"),
    ({"machine": {"gpu": "B200"}}, "machine.gpu"),
    ({"requests": make_requests(2, arrival_s=[1.0, None], arrival_step=[0, 3])}, "requests"),
    ({"requests": make_requests(1, arrival_s=1.0, arrival_step=1)}, "requests.0.arrival_s"),
    ({"requests": make_requests(1, arrival_s=-0.5)}, "requests.0.arrival_s"),
    ({"requests": make_requests(1, arrival_s=float("nan"))}, "requests.0.arrival_s"),
])
def test_scenario_with_nonsense_about_time_is_refused(data: dict[str, Any], field: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(data)
    assert [fault.field for fault in caught.value.faults] == [field]


def test_scenario_in_seconds_survives_json() -> None:
    scenario = Scenario.parse({
        "clock": "seconds", "machine": {"gpu": "T4", "model": "TinyLlama-1.1B"},
        "requests": make_requests(2, arrival_s=[0.125, 7.5])})
    assert Scenario.from_json(scenario.to_json()) == scenario
    assert scenario.arrives_in_seconds


# -- what it leaves unchanged --------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(scenarios())
def test_clock_changes_times_and_no_decision(scenario: Scenario) -> None:
    """With arrivals in steps a run in seconds decides the same; delay_factor counts steps."""
    steps, seconds_too = simulate(scenario), simulate(in_seconds(scenario))
    for table in ("step_rows", "event_rows", "span_rows", "lease_rows", "queue_edits", "end"):
        assert getattr(steps, table) == getattr(seconds_too, table)
    assert seconds_too.durations_s is not None
    assert all(duration > 0 for duration in seconds_too.durations_s)


@pytest.mark.parametrize("scheduler", schedulers())
def test_tables_in_seconds_hold_the_clocks_times(scheduler: str) -> None:
    trace = timed(make_requests(3, output_len=4, arrival_s=[0.0, 5.0, 5.0]), scheduler,
                  num_gpu_blocks=64, bypass_config_checks=True)
    steps, spans = trace.steps, trace.spans
    assert list(steps.start_s) == trace.starts_s
    assert list(steps.duration_s) == trace.durations_s
    first = spans[spans.request_id == "1"]
    assert first.start_s.iloc[0] == 0.0
    assert first.end_s.iloc[-1] == trace.end_s(3)  # it ends with step 3; the next begins at 5 s
    assert first.end_s.iloc[-1] < 1
    assert (spans.end_s >= spans.start_s).all()
    second = spans[spans.request_id == "2"]
    assert second.start_s.iloc[0] == 5.0
    assert trace.requests.arrival_s.tolist() == [0.0, 5.0, 5.0]
    assert trace.requests.arrival_step.isna().all()


def test_span_times_in_steps_are_the_steps() -> None:
    spans = two_that_outgrow_their_blocks("article").spans
    assert (spans.start_s == spans.from_step).all()
    assert (spans.end_s == spans.to_step).all()

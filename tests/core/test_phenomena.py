"""What all phenomena have in common: texts, order, number; and that they are true in every run."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import Trace, simulate
from core.explain import templates
from core.phenomena import DETECTORS, MOST_OF_A_KIND, Phenomenon, phenomena
from core.phenomena.phenomenon import Evidence
from core.queue_replay import num_shown_steps, queues_by_step
from core.scenario import Request
from core.schedulers import schedulers
from core.trace import Kind, State
from tests.conftest import make_requests, run
from tests.core.every_run import GROUPS, every_run
from tests.core.test_explain import ONE_OF_MANY
from tests.strategies import scenarios


def every_occurrence(trace: Trace) -> list[Phenomenon]:
    """Not only the worst of each kind."""
    evidence = Evidence(trace)
    return [each for detect in DETECTORS.values() for each in detect(evidence)]


def faults(trace: Trace) -> list[str]:
    """What is wrong with what is said about a run."""
    found = []
    for each in every_occurrence(trace):
        text = each.here()
        if ONE_OF_MANY.search(text) or re.search(r"None|\d\.\d", text) or text[-1] != ".":
            found.append(f"{each.key} reads: {text}")
        if not 0 <= each.step < num_shown_steps(trace):
            found.append(f"{each.key} is in step {each.step}")
        if each.request is not None and str(trace.request_id(each.request)) not in text:
            found.append(f"{each.key} does not name its request: {text}")
        if not each.weight > 0:
            found.append(f"{each.key} weighs {each.weight}")
        if each.key in TRUTHS and not TRUTHS[each.key](trace, each):
            found.append(f"{each.key} in step {each.step} is not true: {text}")
    return found


# -- what has to be true of an occurrence, without the detector ----------------------------------

def served(trace: Trace, before: int) -> list[list[str | None]]:
    """Whom each step served, by id, up to a step."""
    return [[trace.request_id(i) for i in queues["scheduled"]]
            for queues in islice(queues_by_step(trace), before)]


def would_have_been_let_in(trace: Trace, found: Phenomenon) -> bool:
    """Run it again without all that wait but the shortest of them that fits: it is let in now.

    Only where that is the same run up to now: none of those left out has run before, and no clock
    counts how long somebody has been waiting. V1's threshold for long prompts counts only while
    somebody else is there, so with one, whether it is the same run is looked up.
    """
    config = trace.scenario.config
    if config.delay_factor or config.prefill_schedule_interval > 1:
        return True
    rows, asked = trace.request_rows, trace.scenario.requests
    waiting = next(islice(queues_by_step(trace), found.step, None))["waiting"]
    ran = [i for i in waiting if rows[i].first_scheduled_step is not None
           and int(rows[i].first_scheduled_step or 0) < found.step]
    others = [i for i in waiting if i != found.request]
    shortest = min(others, key=lambda i: asked[i].prompt_len)
    if ran:
        return True
    left_out = set(waiting) - {shortest}
    kept = [i for i in range(len(asked)) if i not in left_out]
    again = simulate(trace.scenario.model_copy(
        update={"requests": tuple(asked[i] for i in kept), "max_steps": found.step + 1}))
    if config.long_prefill_token_threshold and served(again, found.step) != served(
            trace, found.step):
        return True
    began = again.request_rows[kept.index(shortest)].first_scheduled_step
    return began is not None and began <= found.step


def never_ends_with_its_last_token(trace: Trace, found: Phenomenon) -> bool:
    return trace.request_rows[found.request or 0].state is not State.FINISHED


def nobody_gets_a_token(trace: Trace, found: Phenomenon) -> bool:
    """Whoever is served is in the middle of its prompt, and nobody's prompt gets done."""
    end = found.step + int(found.numbers["steps"])
    done = {(s.request, s.to_step) for s in trace.span_rows if s.state is State.PREFILL} & {
        (s.request, s.from_step) for s in trace.span_rows
        if s.state in (State.DECODE, State.FINISHED)}
    return (nobody_who_runs_on_is_served(trace, found)
            and not any(found.step < step <= end for _, step in done))


def waits_throughout(trace: Trace, found: Phenomenon) -> bool:
    queues = islice(queues_by_step(trace), found.step, found.step + int(found.numbers["steps"]))
    return all(found.request in queue["waiting"] + queue["swapped"] for queue in queues)


def waits_while_less_urgent_ones_run(trace: Trace, found: Phenomenon) -> bool:
    priority = [request.priority for request in trace.scenario.requests]
    mine = priority[found.request or 0]
    queues = islice(queues_by_step(trace), found.step, found.step + int(found.numbers["steps"]))
    return waits_throughout(trace, found) and all(
        any(priority[other] > mine for other in queue["running"]) for queue in queues)


def nobody_who_runs_on_is_served(trace: Trace, found: Phenomenon) -> bool:
    steps = range(found.step, found.step + int(found.numbers["steps"]))
    prompts = {(e.step, e.request) for e in trace.event_rows if e.kind is Kind.PREFILLED}
    return all((step, request) in prompts
               for step, queue in zip(steps, islice(queues_by_step(trace), found.step, None),
                                      strict=False) for request in queue["scheduled"])


TRUTHS = {
    "head_of_line": would_have_been_let_in,
    "never_fits": never_ends_with_its_last_token,
    "livelock": nobody_gets_a_token,
    "starvation": waits_throughout,
    "priority_inversion": waits_while_less_urgent_ones_run,
    "decode_stall": nobody_who_runs_on_is_served,
}


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_found_is_true_and_well_said_in_the_runs_of(group: str) -> None:
    assert {name: found for name, trace in every_run(group).items() if (found := faults(trace))
            } == {}


@pytest.mark.parametrize("scheduler", schedulers())
@settings(deadline=None, max_examples=80)
@given(data=st.data())
def test_what_is_found_is_true_and_well_said_in_a_random_run(
        scheduler: str, data: st.DataObject) -> None:
    assert faults(simulate(data.draw(scenarios(scheduler)))) == []


def test_every_phenomenon_is_shown_by_a_recording_a_case_or_a_preset() -> None:
    shown = {each.key for group in GROUPS for t in every_run(group).values()
             for each in phenomena(t)}
    assert shown == set(DETECTORS)


# -- texts and order -----------------------------------------------------------------------------

def test_every_phenomenon_has_its_texts_and_there_are_no_others() -> None:
    keys = [key.split(".") for key in templates() if key.startswith("phenomenon.")]
    for name in DETECTORS:
        assert {"name", "meaning", "here"} <= {parts[2] for parts in keys if parts[1] == name}
    assert {parts[1] for parts in keys} == set(DETECTORS)


def test_phenomena_are_in_order_of_the_steps_and_only_the_worst_of_a_kind() -> None:
    """A run with many decode stalls: those with the most tokens of prompt are kept."""
    trace = every_run("presets")["62_saturated_both"]
    found = phenomena(trace)
    assert [each.step for each in found] == sorted(each.step for each in found)
    told = [each.weight for each in found if each.key == "decode_stall"]
    every = sorted(each.weight for each in every_occurrence(trace) if each.key == "decode_stall")
    assert len(every) > MOST_OF_A_KIND == len(told)
    assert sorted(told) == every[-MOST_OF_A_KIND:]


def test_calm_run_shows_nothing() -> None:
    for scheduler in schedulers():
        assert phenomena(run(make_requests(2), scheduler=scheduler, max_model_len=16)) == ()
    assert phenomena(run([])) == ()


def test_head_of_line_is_told_of_a_run_that_a_threshold_makes_depend_on_who_waits() -> None:
    """3 wants 6 of 5 blocks, 2 behind it wants 1. Without 3, 0 is alone in step 1 and not cut."""
    asked = [("0", 1, 5), ("1", 0, 1), ("2", 2, 1), ("3", 1, 6)]
    requests = [Request(request_id=name, arrival_step=arrival, prompt_len=length, output_len=1)
                for name, arrival, length in asked]
    trace = run(requests, scheduler="vllm_v1", block_size=1, num_gpu_blocks=6, max_num_seqs=1,
                max_num_batched_tokens=4, max_model_len=6, long_prefill_token_threshold=3)
    (found,) = [each for each in every_occurrence(trace) if each.key == "head_of_line"]
    assert (found.step, trace.request_id(found.request)) == (3, "3")
    assert faults(trace) == []


def test_phenomenon_cannot_be_changed() -> None:
    found = phenomena(every_run("presets")["42_v1_hangs"])[0]
    with pytest.raises(FrozenInstanceError):
        found.step = 3  # type: ignore[misc]
    assert phenomena(every_run("presets")["42_v1_hangs"])[0] == found

"""Sentences: a special one for whatever happens, complete, with the numbers and in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import Trace, simulate
from core.explain import end_sentence, numbers, sentence, template_key, templates
from core.queue_replay import queues_by_step
from core.schedulers import schedulers
from core.trace import Cause, Event, Kind, Limit
from tests.conftest import make_requests, only_event, run, two_that_outgrow_their_blocks
from tests.core.every_run import GROUPS, every_run
from tests.strategies import scenarios

ONE_OF_MANY = re.compile(r"\b1 (blocks|requests|seats|steps|tokens)\b")


def said(trace: Trace, kind: Kind, **where: int) -> str:
    return sentence(trace, only_event(trace, kind, **where))


def fields(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def faults(trace: Trace) -> set[str]:
    """What is wrong with the sentences of a run."""
    found = set()
    for event in trace.event_rows:
        key, text = template_key(trace, event), sentence(trace, event)
        cause, known = event.cause, numbers(trace, event)
        if cause is not None and not key.startswith(f"{event.kind.value}.{cause.limit.value}"):
            found.add(f"{event.kind.value} because of {cause.limit.value}: nothing but {key}")
        if empty := [name for name in fields(templates()[key]) if known[name] in (None, "")]:
            found.add(f"{key} has no {empty}")
        if cause is not None and cause.other is not None and cause.other not in text:
            found.add(f"{key} does not name {cause.other}")
        if ONE_OF_MANY.search(text) or "  " in text or text[-1] != ".":
            found.add(f"{key} reads: {text}")
    return found


# -- every run -----------------------------------------------------------------------------------

@pytest.mark.parametrize("group", GROUPS)
def test_every_decision_has_a_special_and_complete_sentence_in_the_runs_of(group: str) -> None:
    assert set[str]().union(*(faults(trace) for trace in every_run(group).values())) == set()


@pytest.mark.parametrize("scheduler", schedulers())
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_every_decision_has_a_special_and_complete_sentence_in_a_random_run(
        scheduler: str, data: st.DataObject) -> None:
    assert faults(simulate(data.draw(scenarios(scheduler)))) == set()


def test_runs_that_are_walked_show_every_kind_of_decision() -> None:
    shown = {e.kind for group in GROUPS for t in every_run(group).values() for e in t.event_rows}
    assert shown == set(Kind)


@pytest.mark.parametrize("group", GROUPS)
def test_victim_is_what_its_sentence_calls_it_in_the_runs_of(group: str) -> None:
    """V0 sorts running by urgency before, if it heeds priorities."""
    for trace in every_run(group).values():
        requests, config = trace.scenario.requests, trace.scenario.config
        rule = schedulers()[trace.scenario.scheduler].victim_rule(config)
        for running, victim in victims(trace):
            least = max(running, key=lambda r: (requests[r].priority, r))
            assert victim == {"last": running[-1], "least_urgent": least}[rule]


def victims(trace: Trace) -> Iterator[tuple[list[int], int]]:
    """Everybody who had to go so that another could go on, and who ran at that moment."""
    before: list[int] = []
    for step, queues in enumerate(queues_by_step(trace)):
        running = list(before)
        for event in (e for e in trace.event_rows if e.step in (step - 1, step)):
            if event.step < step:
                if event.kind is Kind.FINISHED:
                    running.remove(event.request)
            elif event.kind in (Kind.ADMITTED, Kind.SWAPPED_IN):
                running.append(event.request)
            elif event.kind in (Kind.PREEMPTED, Kind.SWAPPED_OUT):
                if template_key(trace, event).endswith(
                        ("spare_block.other", "num_gpu_blocks.other", "priority.other")):
                    yield list(running), event.request
                running.remove(event.request)
        before = list(queues["running"])


def test_every_kind_that_can_come_in_numbers_has_a_sentence_for_many() -> None:
    """Arrivals have their own; a whole queue is held, and an engine dies, once in a step."""
    many = {key.removeprefix("many.") for key in templates() if key.startswith("many.")}
    assert many == {kind.value for kind in Kind} - {"arrived", "held", "aborted"}
    assert all("{names}" in templates()[f"many.{kind}"] for kind in many)


def rare_runs() -> list[Trace]:
    """What no recording, case or preset shows."""
    two = make_requests(2, prompt_len=1, output_len=9)
    return [
        # slips 2 and 5 of the article: who runs is held against what newcomers have used up
        run(make_requests(2, arrival_step=[0, 1]), max_num_seqs=1, preemption_mode="recompute"),
        run(make_requests(2, arrival_step=[0, 1], prompt_len=[4, 8]), max_num_batched_tokens=8,
            preemption_mode="recompute"),
        run(make_requests(2, arrival_step=[0, 1], prompt_len=[4, 8]), max_num_batched_tokens=8),
        run(two, num_gpu_blocks=2, preemption_mode="recompute"),
        run(two, num_gpu_blocks=2, num_cpu_blocks=0),
        # 4, 2 and 3 of 9 blocks; the outer ones end and leave 4 and 3, and the last one needs 5
        run(make_requests(4, prompt_len=[12, 1, 8, 12], output_len=[4, 7, 4, 8]),
            scheduler="orca_oracle", num_gpu_blocks=9),
        run(make_requests(3, output_len=[3, 5, 4], arrival_step=[0, 0, 1]),
            scheduler="static_batching", max_model_len=16),
    ]


def test_every_sentence_that_there_is_can_be_said() -> None:
    """But for the bare ones, which a scheduler to come may need until it has its own."""
    traces = [*rare_runs(), *(t for group in GROUPS for t in every_run(group).values())]
    used = {template_key(trace, event) for trace in traces for event in trace.event_rows}
    kinds = {kind.value for kind in Kind}
    there = {key for key in templates() if key.split(".")[0] in kinds}
    assert there - used <= {"refused", "held", "preempted", "swapped_out", "ignored", "aborted",
                            "taken_back"}
    assert set[str]().union(*map(faults, traces)) == set()


# -- single sentences, by hand -------------------------------------------------------------------

def test_sentence_of_a_refusal_tells_what_is_needed_and_what_there_is() -> None:
    """8 blocks of 4 tokens: the first takes 6, the second needs 4 of the 2 that are left."""
    trace = run(make_requests(2, prompt_len=[24, 16]), scheduler="vllm_v0")
    assert said(trace, Kind.REFUSED, step=1) == (
        "2 has to wait: too few blocks are free (needed: 4, free: 2).")


def test_sentence_of_a_refusal_by_the_watermark_tells_what_must_stay_free() -> None:
    """2 of 10 blocks stay free and 6 are taken, so 2 are to be had, and 3 are needed."""
    trace = run(make_requests(2, prompt_len=[24, 12]), scheduler="vllm_v0", num_gpu_blocks=10,
                watermark=0.2)
    assert said(trace, Kind.REFUSED, step=0) == (
        "2 has to wait: too few blocks are free above the watermark"
        " (needed: 3, free beyond the 2 that must stay free: 2).")


def test_sentence_of_a_victim_names_the_one_for_whom_it_goes() -> None:
    """Step 1: both blocks are taken, and each decode wants a free one."""
    assert said(two_that_outgrow_their_blocks("vllm_v0"), Kind.PREEMPTED, step=1) == (
        "2, the last of running, loses its blocks because of 1: whoever runs must find a free"
        " block, even if its last one has room (free: 0). All it has must be computed again.")
    assert said(two_that_outgrow_their_blocks("article_repaired", preemption_mode="recompute"),
                Kind.PREEMPTED, step=3) == (
        "2, the last of running, loses its blocks so that 1 can go on (blocks needed: 1,"
        " free: 0). All it has must be computed again.")


def test_sentence_of_its_own_victim_does_not_say_that_it_goes_for_itself() -> None:
    """V0, alone with all 8 blocks: its decode wants a free one, though its last one has room."""
    trace = run(make_requests(1, prompt_len=30, output_len=4), scheduler="vllm_v0",
                num_gpu_blocks=8)
    event = next(e for e in trace.event_rows if e.kind is Kind.PREEMPTED)
    assert event.cause is not None
    assert event.cause.other == "1"
    assert sentence(trace, event).startswith(
        "1 loses its own blocks: whoever runs must find a free block, even if its last one has"
        " room (free: 0).")


def test_sentence_of_a_prefill_tells_the_first_from_one_that_starts_over() -> None:
    trace = two_that_outgrow_their_blocks("vllm_v0")
    prefills = [e for e in trace.event_rows if e.kind is Kind.PREFILLED and e.request == 1]
    assert [template_key(trace, e) for e in prefills][:2] == ["prefilled", "prefilled.again"]
    assert sentence(trace, prefills[0]) == "2 computes its prompt (tokens in this step: 1)."
    assert sentence(trace, prefills[1]) == (
        "2 lost its blocks, so its prompt and what it had generated go through the model again"
        f" (tokens in this step: {prefills[1].num_tokens}).")


def test_sentence_of_tokens_given_and_taken_back_in_one_step_does_not_start_over() -> None:
    """The first preemption is later in the same step than the prefill that it undoes."""
    found = [
        (trace, prefill) for trace in every_run("golden-v1").values()
        for back in trace.event_rows if back.kind is Kind.TAKEN_BACK
        and trace.first_preemptions[back.request or 0] == back.step
        for prefill in trace.event_rows
        if (prefill.kind, prefill.step, prefill.request) == (
            Kind.PREFILLED, back.step, back.request)]
    assert {template_key(trace, prefill) for trace, prefill in found} == {"prefilled"}


def test_sentence_of_a_cached_prefill_parts_what_is_found_from_what_is_computed() -> None:
    """Two blocks of 4 tokens are shared, and one more token of the second prompt is computed."""
    trace = run(make_requests(2, prompt_len=9, prefix_id="p", prefix_len=8, arrival_step=[0, 1]),
                scheduler="vllm_v1", enable_prefix_caching=True, num_gpu_blocks=16)
    assert said(trace, Kind.PREFILLED, step=1) == (
        "2 finds the first part of its tokens in the cache (8) and computes what follows"
        " (tokens in this step: 1).")


def test_sentence_of_a_cause_that_has_none_of_its_own_is_the_bare_one() -> None:
    trace = run(make_requests(1))
    event = Event(0, Kind.REFUSED, 0, cause=Cause(Limit.HEAD_OF_LINE), queue="waiting")
    assert sentence(trace, event) == "1 has to wait."


# -- the end -------------------------------------------------------------------------------------

def test_end_of_a_stuck_run_names_who_blocks_it_since_when_and_why() -> None:
    """V1 has 7 usable blocks of 4, and a prompt of 30 tokens needs 8."""
    trace = run(make_requests(1, prompt_len=30), scheduler="vllm_v1")
    assert end_sentence(trace) == (
        "Stuck since step 0, and nothing will ever change. 1 has to wait: too few blocks are free"
        " (needed: 8, free: 7).")


def test_end_of_a_run_in_which_the_engine_died_tells_of_what() -> None:
    trace = two_that_outgrow_their_blocks("vllm_v0", preemption_mode="swap", num_cpu_blocks=0)
    assert end_sentence(trace) == (
        "The run ends in step 1. The engine dies: 2 must be swapped out so that 1 can go on, and"
        " there is no room for it (CPU blocks asked for: 1, free: 0).")


def test_end_of_a_finished_and_of_a_cut_off_run_counts_the_steps() -> None:
    assert end_sentence(run(make_requests(1))) == "Every request has ended after 4 steps."
    assert end_sentence(run(make_requests(1), max_steps=2)) == "Cut off at the limit of 2 steps."


def test_templates_of_an_unknown_language_are_the_english_ones() -> None:
    assert templates("xx") == templates("en")

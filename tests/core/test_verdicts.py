"""One verdict for everybody who gets no token, in every step of every run."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import Trace, simulate
from core.presets import load_presets
from core.queue_replay import QUEUES, queues_by_step
from core.schedulers import schedulers
from core.trace import Kind, Limit, Outcome
from core.verdicts import (
    OWN_VERDICTS,
    Ground,
    Verdict,
    verdict_sentence,
    verdicts,
    verdicts_by_step,
)
from tests.conftest import make_requests, queue_after, run, two_that_outgrow_their_blocks
from tests.core.every_run import GROUPS, every_run
from tests.strategies import scenarios

REFUSED_AND_THEN_THROWN_OUT = [Kind.REFUSED, Kind.PREEMPTED]
"""V1: a running request gets nothing, and then has to go for one that is served after it."""


def grounds(trace: Trace, step: int) -> dict[str | None, Ground]:
    return {trace.request_id(i): v.ground for i, v in verdicts(trace, step).items()}


def the_one(trace: Trace, step: int, request_id: str) -> Verdict:
    return next(v for i, v in verdicts(trace, step).items() if trace.request_id(i) == request_id)


# -- every run -----------------------------------------------------------------------------------

def faults(trace: Trace) -> list[str]:
    """Who has too few or too many verdicts, or one that cannot be true."""
    found = []
    decided: dict[tuple[int, int | None], list[Kind]] = defaultdict(list)
    for event in trace.event_rows:
        if event.kind in OWN_VERDICTS:
            decided[event.step, event.request].append(event.kind)
    found += [f"step {step}: {request} has {kinds}" for (step, request), kinds in decided.items()
              if len(kinds) > 1 and kinds != REFUSED_AND_THEN_THROWN_OUT]
    for step, (queues, given_) in enumerate(zip(queues_by_step(trace), verdicts_by_step(trace),
                                                strict=True)):
        served = set(queues["scheduled"])
        alive = [request for queue in QUEUES for request in queues[queue]]
        found += [f"step {step}: {r} has none" for r in set(alive) - served - given_.keys()]
        found += [f"step {step}: {r} has one and a token" for r in served & given_.keys()]
        found += [f"step {step}: {r} is in two queues" for r in alive if alive.count(r) > 1]
        found += [f"step {step}: {r} is blamed on somebody behind it"
                  for r, verdict in given_.items() if not stands_behind(trace, r, verdict, queues)]
    return found


def stands_behind(trace: Trace, request: int, verdict: Verdict,
                  queues: dict[str, list[int]]) -> bool:
    """Unless V0 has sorted the queue since, for its priorities."""
    queue = queues[verdict.event.queue or "waiting"]
    sorts = trace.scenario.scheduler == "vllm_v0" and trace.scenario.config.policy == "priority"
    if verdict.ground is not Ground.BEHIND or sorts:
        return True
    return queue.index(request) > queue.index(verdict.event.request or 0)


@pytest.mark.parametrize("group", GROUPS)
def test_everybody_without_a_token_has_one_verdict_in_the_runs_of(group: str) -> None:
    assert {name: found for name, trace in every_run(group).items() if (found := faults(trace))
            } == {}


@pytest.mark.parametrize("scheduler", schedulers())
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_everybody_without_a_token_has_one_verdict_in_a_random_run(
        scheduler: str, data: st.DataObject) -> None:
    assert faults(simulate(data.draw(scenarios(scheduler)))) == []


@pytest.mark.parametrize("name", ["article", "vllm_v0", "vllm_v1"])
def test_verdicts_of_one_step_are_those_of_the_walk_over_all_steps(name: str) -> None:
    trace = two_that_outgrow_their_blocks(name)
    walk = list(verdicts_by_step(trace))
    assert walk == [verdicts(trace, step) for step in range(trace.num_steps)]
    assert any(walk)


# -- each ground ---------------------------------------------------------------------------------

def test_verdict_of_a_refused_head_is_its_own_and_of_the_next_that_it_stands_behind() -> None:
    """8 blocks of 4: the first takes 6, the second needs 4, the third would fit."""
    trace = run(make_requests(3, prompt_len=[24, 16, 4]), scheduler="vllm_v1", num_gpu_blocks=9)
    assert grounds(trace, 0) == {"2": Ground.OWN, "3": Ground.BEHIND}
    head, behind = the_one(trace, 0, "2"), the_one(trace, 0, "3")
    assert (head.event.kind, head.event) == (Kind.REFUSED, behind.event)
    assert "2 stood in front" in verdict_sentence(trace, behind)
    assert verdict_sentence(trace, head).startswith("2 has to wait")


def test_verdict_of_a_held_queue_is_that_of_everybody_in_it() -> None:
    """V0's default mode: 1 and 2 run, 3 comes in step 1 and its prompt takes the step."""
    trace = run(make_requests(3, arrival_step=[0, 0, 1]), scheduler="vllm_v0")
    assert grounds(trace, 1) == {"1": Ground.HELD, "2": Ground.HELD}
    cause = the_one(trace, 1, "1").event.cause
    assert cause is not None
    assert (cause.limit, cause.other) == (Limit.PREFILL_STEP, "3")
    assert verdict_sentence(trace, the_one(trace, 1, "2")).startswith("Running requests pause: 3")


def test_verdict_of_a_victim_is_its_own_and_nobody_else_has_one() -> None:
    trace = two_that_outgrow_their_blocks("vllm_v0")
    assert grounds(trace, 3) == {"2": Ground.OWN}
    assert the_one(trace, 3, "2").event.kind is Kind.PREEMPTED


def test_verdict_of_a_request_that_is_refused_and_then_thrown_out_is_the_loss() -> None:
    """V1, 3 usable blocks of 4. 1 with its 8 tokens may compute 7 of them, has them after step 1,
    and sits there for ever on 2 blocks. In step 2 the urgent 2 needs a second block."""
    trace = run(make_requests(2, prompt_len=[8, 4], priority=[1, 0], arrival_step=[0, 1]),
                scheduler="vllm_v1", policy="priority", enable_chunked_prefill=True,
                num_gpu_blocks=4, max_num_batched_tokens=6, max_model_len=8)
    both = [e.kind for e in trace.event_rows if (e.step, e.request) == (2, 0)]
    assert both == REFUSED_AND_THEN_THROWN_OUT
    assert the_one(trace, 2, "1").event.kind is Kind.PREEMPTED


def test_verdict_of_an_ignored_request_is_its_own_though_it_stands_in_no_queue() -> None:
    trace = run(make_requests(1, prompt_len=70), scheduler="vllm_v0")
    assert queue_after(trace, "waiting", 0) == []
    assert the_one(trace, 0, "1").event.kind is Kind.IGNORED


def both_hold_all_blocks() -> Trace:
    """Two requests with a block each, in a memory of two, and no swap space. Step 1: each decode
    wants a free block, so the second has to leave, and V0 dies."""
    return two_that_outgrow_their_blocks("vllm_v0", preemption_mode="swap", num_cpu_blocks=0)


def test_verdicts_of_a_step_in_which_the_engine_dies_are_for_everybody() -> None:
    """1, whom the step before served, gets nothing either."""
    trace = both_hold_all_blocks()
    assert (trace.end.outcome, trace.end.step) == (Outcome.ABORTED, 1)
    assert queue_after(trace, "scheduled", 0) == ["1", "2"]
    assert grounds(trace, 1) == {"1": Ground.DIED, "2": Ground.OWN}
    assert "the engine dies" in verdict_sentence(trace, the_one(trace, 1, "1"))
    assert len(list(verdicts_by_step(trace))) == 2


def test_queues_of_a_step_in_which_the_engine_dies_show_nobody_served() -> None:
    last = next(islice(queues_by_step(both_hold_all_blocks()), 1, None))
    assert last == {"waiting": [], "running": [0, 1], "swapped": [], "scheduled": []}


def test_verdict_of_a_request_admitted_in_the_step_in_which_the_engine_dies() -> None:
    """It has left the waiting queue and not reached the running one, so it stands in none."""
    trace = simulate(load_presets()["28_v0_priority_and_swap"].scenario)
    last = next(islice(queues_by_step(trace), trace.num_steps, None))
    admitted = [e.request for e in trace.event_rows
                if e.step == trace.num_steps and e.kind is Kind.ADMITTED]
    assert len(admitted) == 1 and not any(admitted[0] in queue for queue in last.values())
    assert verdicts(trace, trace.num_steps)[admitted[0] or 0].ground is Ground.DIED

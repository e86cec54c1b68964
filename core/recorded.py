"""Scenarios and traces in the format of the recordings of the real engines, and their comparison.

The recordings (tests/golden/) hold, step by step, what vLLM's own schedulers decided. Here a
scenario of theirs becomes a Scenario, and a Trace is written in exactly their form, so that the
two can be held against each other field by field.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from core.recorded_steps import Step, StepWriter, ids_of
from core.scenario import Scenario
from core.schedulers import schedulers
from core.schedulers.vllm_v1_checks import frontend_would_reject, startup_would_reject
from core.trace import Kind, Outcome, State, Trace

ENGINES = {"v0": "vllm 0.6.6.post1 V0", "v1": "vllm 0.33.0 V1"}
MAX_STEPS = {"v0": 100_000, "v1": 400}
"""Step limit of a recording that does not name one."""

DEFAULTS: dict[str, dict[str, Any]] = {"v0": {}, "v1": {"enable_chunked_prefill": True}}
"""Knobs that a recording need not name and whose default there is not ours."""


def scenario_from_recorded(recorded: dict[str, Any], engine: str) -> Scenario:
    """The Scenario of a recorded one (its ``name``, ``config``, ``requests``, ``max_steps``).

    Args:
        engine: ``v0`` or ``v1``.

    Raises:
        ScenarioError: if the recorded scenario is not valid.
    """
    return Scenario.parse({
        "name": recorded.get("name", "recorded"),
        "scheduler": f"vllm_{engine}",
        "config": {**DEFAULTS[engine], **recorded["config"]},
        "requests": recorded["requests"],
        "max_steps": recorded.get("max_steps", MAX_STEPS[engine]),
    })


def recorded_trace(trace: Trace) -> dict[str, Any]:
    """The Trace of ``vllm_v0`` or ``vllm_v1`` in the recordings' form.

    Raises:
        ValueError: if another scheduler made it.
    """
    engine = trace.scenario.scheduler.removeprefix("vllm_")
    if engine not in ENGINES:
        raise ValueError(f"there are recordings of vllm_v0 and vllm_v1 only, not of {engine}")
    steps = StepWriter(trace, engine).steps()
    aborted = trace.end.outcome is Outcome.ABORTED
    result: dict[str, Any] = {
        "engine": ENGINES[engine],
        "scenario": _recorded_scenario(trace.scenario),
        "aborted": trace.end.message if aborted else None,
        "steps": steps[: trace.num_steps],
    }
    if trace.end.outcome is Outcome.STUCK:
        result["stuck"] = True
    if trace.end.outcome is Outcome.STEP_LIMIT:
        result["truncated"] = True
    if engine == "v0":
        result["final"] = {
            trace.request_id(i): [_final_status(row.state, trace, i), row.num_output_tokens,
                                  row.end_step]
            for i, row in enumerate(trace.request_rows)
        }
        if aborted:
            result["abort_step"] = trace.end.step
            result["abort_partial"] = _partial(trace)
    else:
        result["frontend_would_reject"] = frontend_would_reject(trace.scenario)
        result["startup_would_reject"] = startup_would_reject(trace.scenario)
    return result


RECORDED_FIELDS = {"request_id", "arrival_step", "prompt_len", "output_len", "priority",
                   "prefix_id", "prefix_len"}
"""What a recorded scenario tells of a request."""


def _recorded_scenario(scenario: Scenario) -> dict[str, Any]:
    knobs = schedulers()[scenario.scheduler].knobs
    return {
        "name": scenario.name,
        "config": scenario.config.model_dump(include=set(knobs)),
        "requests": [r.model_dump(include=RECORDED_FIELDS) for r in scenario.requests],
        "max_steps": scenario.max_steps,
    }


class Difference(NamedTuple):
    """Where a trace first differs from a recording."""

    step: int | None
    field: str
    ours: Any
    theirs: Any


def first_difference(ours: dict[str, Any], theirs: dict[str, Any]) -> Difference | None:
    """The first step and field in which two recorded traces differ; None if they are identical."""
    for mine, real in zip(ours["steps"], theirs["steps"], strict=False):
        for field in sorted(mine.keys() | real.keys()):
            if mine.get(field) != real.get(field):
                return Difference(mine["step"], field, mine.get(field), real.get(field))
    if len(ours["steps"]) != len(theirs["steps"]):
        return Difference(None, "number of steps", len(ours["steps"]), len(theirs["steps"]))
    for field in ("stuck", "truncated", "abort_step", "abort_partial", "final",
                  "frontend_would_reject", "startup_would_reject"):
        mine, real = ours.get(field) or None, theirs.get(field) or None
        if mine != real:
            return Difference(None, field, mine, real)
    mine, real = ours.get("aborted"), theirs.get("aborted")
    if _error_kind(mine) != _error_kind(real):
        return Difference(None, "aborted", mine, real)
    return None


def _error_kind(text: str | None) -> str | None:
    """The exception's type; its text may hold numbers of the real engine's own."""
    return None if text is None else text.split(":")[0]


def _final_status(state: State, trace: Trace, index: int) -> str:
    if state is State.ABORTED:  # what the request was when the engine died
        state = next(s.state for s in reversed(trace.span_rows)
                     if s.request == index and s.state is not State.ABORTED)
    return {
        State.WAITING: "WAITING", State.PREFILL: "RUNNING", State.DECODE: "RUNNING",
        State.SWAPPED: "SWAPPED", State.FINISHED: "FINISHED_LENGTH_CAPPED",
        State.IGNORED: "FINISHED_IGNORED",
    }[state]


def _partial(trace: Trace) -> Step:
    """What had been decided in the step in which the engine died."""
    events = [e for e in trace.event_rows if e.step == trace.end.step]
    no_room = trace.end.cause is not None and trace.end.cause.limit == "num_cpu_blocks"
    return {
        "step": trace.end.step,
        "arrived": ids_of(trace, events, Kind.ARRIVED),
        "admitted": ids_of(trace, events, Kind.ADMITTED),
        "swapped_in": ids_of(trace, events, Kind.SWAPPED_IN),
        "swapped_out": ids_of(trace, events, Kind.SWAPPED_OUT),
        "preempted_recompute": ids_of(trace, events, Kind.PREEMPTED),
        "swap_out_failed": trace.request_id(trace.end.request) if no_room else None,
    }

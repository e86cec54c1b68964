"""Scenarios and traces in the format of the recordings of the real engines, and their comparison.

The recordings (tests/golden/) hold, step by step, what vLLM's own schedulers decided. Here a
scenario of theirs becomes a Scenario, and a Trace is written in exactly their form, so that the
two can be held against each other field by field.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import Any, NamedTuple

from core.scenario import Scenario
from core.schedulers import schedulers
from core.schedulers.vllm_v1_checks import frontend_would_reject, startup_would_reject
from core.trace import Event, Kind, Limit, Outcome, QueueEdit, State, Trace

ENGINES = {"v0": "vllm 0.6.6.post1 V0", "v1": "vllm 0.33.0 V1"}
MAX_STEPS = {"v0": 100_000, "v1": 400}
"""Step limit of a recording that does not name one."""

DEFAULTS: dict[str, dict[str, Any]] = {"v0": {}, "v1": {"enable_chunked_prefill": True}}
"""Knobs that a recording need not name and whose default there is not ours."""

Step = dict[str, Any]


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
    steps = _StepWriter(trace, engine).steps()
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


def _recorded_scenario(scenario: Scenario) -> dict[str, Any]:
    knobs = schedulers()[scenario.scheduler].knobs
    return {
        "name": scenario.name,
        "config": scenario.config.model_dump(include=set(knobs)),
        "requests": [r.model_dump(exclude={"prompt"}) for r in scenario.requests],
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
                return Difference(real["step"], field, mine.get(field), real.get(field))
    if len(ours["steps"]) != len(theirs["steps"]):
        return Difference(None, "number of steps", len(ours["steps"]), len(theirs["steps"]))
    for field in ("stuck", "truncated", "abort_step", "abort_partial", "final",
                  "frontend_would_reject", "startup_would_reject"):
        mine, real = ours.get(field) or None, theirs.get(field) or None
        if mine != real:
            return Difference(None, field, mine, real)
    if _error_kind(ours["aborted"]) != _error_kind(theirs["aborted"]):
        return Difference(None, "aborted", ours["aborted"], theirs["aborted"])
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
        "arrived": _ids(trace, events, Kind.ARRIVED),
        "admitted": _ids(trace, events, Kind.ADMITTED),
        "swapped_in": _ids(trace, events, Kind.SWAPPED_IN),
        "swapped_out": _ids(trace, events, Kind.SWAPPED_OUT),
        "preempted_recompute": _ids(trace, events, Kind.PREEMPTED),
        "swap_out_failed": trace.request_id(trace.end.request) if no_room else None,
    }


def _ids(trace: Trace, events: list[Event], kind: Kind) -> list[str | None]:
    return [trace.request_id(e.request) for e in events if e.kind is kind]


class _StepWriter:
    """Replays a Trace's changes and writes down the state after each step."""

    def __init__(self, trace: Trace, engine: str) -> None:
        self.trace = trace
        self.v0 = engine == "v0"
        self.caching = trace.scenario.config.enable_prefix_caching
        self.events: dict[int, list[Event]] = defaultdict(list)
        for step, group in groupby(trace.event_rows, key=lambda e: e.step):
            self.events[step].extend(group)
        self.edits: dict[int, list[QueueEdit]] = defaultdict(list)
        for edit in trace.queue_edits:
            self.edits[edit.step].append(edit)
        self.queues: dict[str, list[int]] = {
            "waiting": [], "running": [], "swapped": [], "scheduled": []
        }
        self.tables = _tables_by_step(trace)
        self.ignored: set[int | None] = set()

    def steps(self) -> list[Step]:
        return [self._step(number) for number in range(self.trace.num_steps)]

    def _step(self, number: int) -> Step:
        trace, events = self.trace, self.events[number]
        for edit in self.edits[number]:
            end = edit.position + edit.removed
            self.queues[edit.queue][edit.position : end] = edit.inserted
        row = trace.step_rows[number]
        prefills = {e.request: e for e in events if e.kind is Kind.PREFILLED}
        step: Step = {"step": number}
        for key, kind in (("arrived", Kind.ARRIVED), ("admitted", Kind.ADMITTED),
                          ("swapped_in", Kind.SWAPPED_IN), ("swapped_out", Kind.SWAPPED_OUT),
                          ("preempted_recompute", Kind.PREEMPTED), ("ignored", Kind.IGNORED),
                          ("finished", Kind.FINISHED)):
            step[key] = _ids(trace, events, kind)
        step["scheduled"] = [
            [trace.request_id(i), self._tokens(prefills[i]) if i in prefills else 1]
            for i in self.queues["scheduled"]
        ]
        step["num_batched_tokens"] = row.num_batched_tokens
        for queue in ("waiting", "running", "swapped"):
            step[queue] = [trace.request_id(i) for i in self.queues[queue]]
        step["free_gpu_blocks"] = row.free_gpu_blocks
        step["free_cpu_blocks"] = row.free_cpu_blocks
        step["block_tables"] = {
            trace.request_id(i): self.tables["gpu", number].get(i, [])
            for i in self.queues["running"]
        }
        if self.v0:
            self._add_v0(step, number, events, len(prefills))
        if self.caching:
            self._add_caching(step, events)
        return step

    def _tokens(self, prefill: Event) -> int:
        """As the engine reports them: V0's include those found in the prefix cache."""
        return prefill.num_tokens - (0 if self.v0 else prefill.num_cached_tokens)

    def _add_v0(self, step: Step, number: int, events: list[Event], prefills: int) -> None:
        trace = self.trace
        step["num_prefill_groups"] = prefills
        self.ignored.update(e.request for e in events if e.kind is Kind.IGNORED)
        # an ignored request keeps its CPU blocks, but is not swapped out any more
        cpu = {trace.request_id(i): table for i, table in self.tables["cpu", number].items()
               if i not in self.ignored}
        forced: list[str | None] = []
        moved: dict[str, list[list[int]]] = {"in": [], "out": []}
        for event in events:
            by_priority = event.cause is not None and event.cause.limit is Limit.PRIORITY
            if by_priority:  # and the engine forgets to hand these blocks to the worker
                forced.append(trace.request_id(event.request))
            elif event.kind is Kind.SWAPPED_OUT:
                moved["out"] += self._moves(event.request, ("gpu", number - 1), ("cpu", number))
            elif event.kind is Kind.SWAPPED_IN:
                moved["in"] += self._moves(event.request, ("cpu", number - 1), ("gpu", number))
        for key, value in (("priority_preempted", forced), ("cpu_block_tables", cpu),
                           ("blocks_to_swap_in", moved["in"]),
                           ("blocks_to_swap_out", moved["out"])):
            if value:
                step[key] = value

    def _moves(self, request: int | None, source: tuple[str, int], target: tuple[str, int],
               ) -> list[list[int]]:
        """Pairs [from, to] in table order; a table just swapped in may have grown by one."""
        assert request is not None, "a swap concerns one request"
        old, new = self.tables[source][request], self.tables[target][request]
        return [list(pair) for pair in zip(old, new, strict=False)]

    def _add_caching(self, step: Step, events: list[Event]) -> None:
        admitted = {e.request for e in events if e.kind is Kind.ADMITTED}
        cached = {self.trace.request_id(e.request): e.num_cached_tokens for e in events
                  if e.kind is Kind.PREFILLED and e.request in admitted}
        if self.v0:
            step["cached_tokens"] = {k: v for k, v in cached.items() if v}
        else:
            step["cached_tokens"] = cached
            step["evicted_cached_blocks"] = [e.block_id for e in events if e.kind is Kind.EVICTED]


def _tables_by_step(trace: Trace) -> dict[tuple[str, int], dict[int, list[int]]]:
    """Per device and step the block table of every request that holds blocks."""
    tables: dict[tuple[str, int], dict[int, list[int]]] = defaultdict(dict)
    for lease in trace.lease_rows:
        if not lease.since:
            continue
        for step in range(lease.since[0], min(lease.to_step, trace.num_steps)):
            held = [b for b, since in zip(lease.blocks, lease.since, strict=True) if since <= step]
            tables[lease.device, step][lease.request] = held
    return tables

"""A run in the Chrome Trace Event Format, for https://ui.perfetto.dev and chrome://tracing.

Two processes. "engine": a track with a slice per step, and counters of the queues and the blocks.
"requests": a track per request, with a slice for its whole life and in it one for each stay in a
state; decisions about it are instants, with their causes in ``args``.

Times are whole microseconds. A clock that counts steps is written as a millisecond per step.
Slices of a track nest and never overlap, which Perfetto requires; events are in order of time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from core.recorder import Recorder
from core.schedulers import schedulers
from core.trace import Event, Kind, State, Trace

ENGINE, REQUESTS = 1, 2
"""Process ids."""
STEPS = 1
"""The track of the steps."""
STEP_US = 1_000
"""Microseconds that stand for a step, if the clock counts steps."""
INSTANTS = frozenset({
    Kind.PREEMPTED, Kind.SWAPPED_OUT, Kind.SWAPPED_IN, Kind.COMPRESSED, Kind.TAKEN_BACK,
    Kind.IGNORED, Kind.FINISHED, Kind.ABORTED,
})
"""Decisions that are shown; refusals would be one per step and waiting request."""

Json = dict[str, Any]


def perfetto_json(trace: Trace) -> bytes:
    """The run as the bytes of a file. The same Trace gives the same bytes."""
    text = json.dumps(perfetto_trace(trace), separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def perfetto_trace(trace: Trace) -> Json:
    """The run as the object that the format asks for."""
    events = [*_steps(trace), *_counters(trace), *_lives(trace), *_instants(trace)]
    # a slice before those that it holds: earlier first, longer first
    events.sort(key=lambda event: (event["ts"], -event.get("dur", -1)))
    return {
        "traceEvents": [*_names(trace), *events],
        "displayTimeUnit": "ms",
        "otherData": {
            "clock": trace.scenario.clock,
            "microseconds_per_step": STEP_US if trace.starts_s is None else None,
            "outcome": trace.end.outcome.value,
            "scenario": trace.scenario.model_dump(mode="json", exclude_defaults=True),
        },
    }


def _names(trace: Trace) -> Iterator[Json]:
    """How the processes and tracks are called, and their order."""
    for pid, name in ((ENGINE, "engine"), (REQUESTS, "requests")):
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0,
               "args": {"sort_index": pid}}
    yield {"ph": "M", "name": "thread_name", "pid": ENGINE, "tid": STEPS,
           "args": {"name": "steps"}}
    for index in sorted({span.request for span in trace.span_rows}):
        track = {"ph": "M", "pid": REQUESTS, "tid": _track(index)}
        yield {**track, "name": "thread_name", "args": {"name": trace.request_id(index)}}
        yield {**track, "name": "thread_sort_index", "args": {"sort_index": index}}


def _steps(trace: Trace) -> Iterator[Json]:
    """A slice per step with its numbers."""
    for step, row in enumerate(trace.step_rows):
        start = _us(trace, trace.start_s(step))
        yield {
            "ph": "X", "name": f"step {step}", "cat": "step", "pid": ENGINE, "tid": STEPS,
            "ts": start, "dur": _us(trace, trace.end_s(step)) - start,
            "args": {"step": step, "num_batched_tokens": row.num_batched_tokens,
                     "num_prefill_tokens": row.num_prefill_tokens,
                     "num_scheduled": row.num_scheduled},
        }


def _counters(trace: Trace) -> Iterator[Json]:
    """The queues and the blocks, written whenever they change. Taken at each step's decision."""
    gpu, cpu = _pool_sizes(trace)
    written: dict[str, Json] = {}
    for step, row in enumerate(trace.step_rows):
        now = {
            "queues": {"waiting": row.num_waiting, "running": row.num_running,
                       "swapped": row.num_swapped},
            "GPU blocks": {"used": gpu - row.free_gpu_blocks, "free": row.free_gpu_blocks},
            "CPU blocks": {"used": cpu - row.free_cpu_blocks, "free": row.free_cpu_blocks},
        }
        for name, values in now.items():
            if written.get(name) != values:
                written[name] = values
                yield {"ph": "C", "name": name, "pid": ENGINE, "tid": 0,
                       "ts": _us(trace, trace.start_s(step)), "args": values}


def _pool_sizes(trace: Trace) -> tuple[int, int]:
    """Blocks that the scheduler can hand out on each device: V1 has a null block and no swap."""
    scenario = trace.scenario
    blocks = schedulers()[scenario.scheduler](scenario.config, Recorder("")).blocks
    return blocks.gpu.num_free, blocks.cpu.num_free


def _lives(trace: Trace) -> Iterator[Json]:
    """Per request a slice for its life, and in it a slice for each stay in a state."""
    begun: dict[int, int] = {}
    ended: dict[int, int] = {}
    for span in trace.span_rows:
        if span.to_step == span.from_step or span.state in (State.FINISHED, State.IGNORED):
            continue
        start = _us(trace, trace.start_s(span.from_step))
        end = _us(trace, trace.end_s(span.to_step - 1))
        begun.setdefault(span.request, start)
        ended[span.request] = end
        yield {"ph": "X", "name": span.state.value, "cat": "state", "pid": REQUESTS,
               "tid": _track(span.request), "ts": start, "dur": end - start,
               "args": {"attempt": span.attempt, "num_tokens": span.num_tokens,
                        "from_step": span.from_step, "to_step": span.to_step}}
    for index, start in begun.items():
        asked, got = trace.scenario.requests[index], trace.request_rows[index]
        yield {"ph": "X", "name": asked.request_id, "cat": "request", "pid": REQUESTS,
               "tid": _track(index), "ts": start, "dur": ended[index] - start,
               "args": {"prompt_len": asked.prompt_len, "output_len": asked.output_len,
                        "outcome": got.state.value, "num_output_tokens": got.num_output_tokens,
                        "num_preemptions": got.num_preemptions, "num_swaps": got.num_swaps}}


def _instants(trace: Trace) -> Iterator[Json]:
    """Decisions about a request, on its track, with their causes."""
    for event in trace.event_rows:
        if event.kind not in INSTANTS or event.request is None:
            continue
        at_end = event.kind is Kind.FINISHED
        when = trace.end_s(event.step) if at_end else trace.start_s(event.step)
        yield {"ph": "i", "s": "t", "name": event.kind.value, "cat": "decision", "pid": REQUESTS,
               "tid": _track(event.request), "ts": _us(trace, when), "args": _cause(event)}


def _cause(event: Event) -> Json:
    """Why: the limit, how much was needed and there, on whose behalf, by which line."""
    args: Json = {"step": event.step, "num_tokens": event.num_tokens}
    if event.cause is not None:
        args |= {"limit": event.cause.limit.value, "needed": event.cause.needed,
                 "available": event.cause.available, "other": event.cause.other}
    args["source_line"] = event.line
    return {name: value for name, value in args.items() if value is not None}


def _track(index: int) -> int:
    return index + 1


def _us(trace: Trace, time_s: float) -> int:
    """Whole microseconds; a step of a clock that counts steps is a millisecond."""
    return round(time_s * (STEP_US if trace.starts_s is None else 1_000_000))

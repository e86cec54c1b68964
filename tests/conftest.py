"""Builders for tests: small defaults, every knob by keyword; and short ways to read a trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from core import Scenario, Trace, simulate
from core.trace import Event, Kind


def make_requests(number: int = 1, first_id: int = 1, **fields: Any) -> list[dict[str, Any]]:
    """So many requests with the ids "1", "2", ...; a list gives each its own value of a field.

    make_requests(3, prompt_len=[4, 2, 9], output_len=8)
    """
    columns = {"prompt_len": 4, "output_len": 4, **fields}
    if "prompt" in columns:
        del columns["prompt_len"]
    requests = [{"request_id": str(i)} for i, _ in zip(count(first_id), range(number))]
    for name, value in columns.items():
        values = value if isinstance(value, list) else [value] * number
        for request, one in zip(requests, values, strict=True):
            request[name] = one
    return requests


def make_scenario(
    requests: Iterable[dict[str, Any]] | None = None,
    scheduler: str = "article",
    max_steps: int = 1_000,
    name: str = "test",
    **knobs: Any,
) -> Scenario:
    """A Scenario with blocks of 4 tokens, 8 of them on the GPU and 8 on the CPU, 8 sequences and
    64 tokens in a step; ``knobs`` are fields of the EngineConfig."""
    small = {"block_size": 4, "num_gpu_blocks": 8, "num_cpu_blocks": 8, "max_num_seqs": 8,
             "max_num_batched_tokens": 64, "max_model_len": 64}
    return Scenario.parse({
        "name": name,
        "scheduler": scheduler,
        "max_steps": max_steps,
        "config": {**small, **knobs},
        "requests": list(make_requests() if requests is None else requests),
    })


def run(requests: Iterable[dict[str, Any]] | None = None, **knobs: Any) -> Trace:
    """The trace of ``make_scenario(...)``."""
    return simulate(make_scenario(requests, **knobs))


def two_that_outgrow_their_blocks(scheduler: str, **knobs: Any) -> Trace:
    """Two requests with 1 prompt token and a block each, in a memory of 2 blocks of 4.

    They hold 2, 3, 4 tokens after steps 0, 1, 2; in step 3 each needs a second block, and one of
    them goes with 3 generated tokens. The other ends with its 5th generated token in step 4.
    """
    return run(make_requests(2, prompt_len=1, output_len=5), scheduler=scheduler,
               num_gpu_blocks=2, **knobs)


def ids_of(trace: Trace, kind: Kind, step: int | None = None) -> list[str | None]:
    """Who had a decision of this kind, in order; in one step or in the whole run."""
    return [trace.request_id(e.request) for e in trace.event_rows
            if e.kind is kind and step in (None, e.step)]


def only_event(trace: Trace, kind: Kind, step: int | None = None,
               request_id: str | None = None) -> Event:
    """The one decision of this kind (in this step, about this request)."""
    (event,) = [e for e in trace.event_rows if e.kind is kind and step in (None, e.step)
                and request_id in (None, trace.request_id(e.request))]
    return event


def queue_after(trace: Trace, queue: str, step: int) -> list[str | None]:
    """The ids in a queue, front first, when the scheduler had decided this step."""
    held: list[int] = []
    for edit in trace.queue_edits:
        if edit.queue == queue and edit.step <= step:
            held[edit.position : edit.position + edit.removed] = edit.inserted
    return [trace.request_id(index) for index in held]


def queues_after(trace: Trace, step: int) -> dict[str, list[str | None]]:
    """The article's three queues when the scheduler had decided this step."""
    return {queue: queue_after(trace, queue, step) for queue in ("waiting", "running", "swapped")}


def blocks_held(trace: Trace, device: str, step: int) -> dict[str, list[int]]:
    """Per request the physical blocks it held in this step, in order of position."""
    leases = trace.leases
    held = leases[(leases.device == device) & (leases.from_step <= step) & (leases.to_step > step)]
    return {str(request_id): list(rows.sort_values("position").block_id)
            for request_id, rows in held.groupby("request_id", sort=False)}


def column(trace: Trace, table: str, name: str) -> Sequence[Any]:
    """One column of a table as a plain list, with None for what is missing."""
    values = getattr(trace, table)[name]
    return [None if missing else value
            for value, missing in zip(values.tolist(), values.isna(), strict=True)]

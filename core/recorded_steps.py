"""The steps of a Trace in the form of the recordings (golden/v0 1.5, golden/v1 Format)."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import Any

from core.trace import Event, Kind, Limit, QueueEdit, Trace

Step = dict[str, Any]


def ids_of(trace: Trace, events: list[Event], kind: Kind) -> list[str | None]:
    """Whom the decisions of one kind concern, in order."""
    return [trace.request_id(e.request) for e in events if e.kind is kind]


class StepWriter:
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
        """Every completed step."""
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
            step[key] = ids_of(trace, events, kind)
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

"""What the KV memory holds, step by step: tokens, places for later, places for nothing.

The kinds are those of figure 2 of the vLLM paper (arXiv 2309.06180): token states, reserved,
internal fragmentation, external fragmentation. They are counted in slots, places for one token,
when the step is over.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.token_times import Ints, TokenTimes, token_times
from core.trace import Kind, Limit, TableLease, Trace

_ROOM = frozenset((Limit.GPU_BLOCKS, Limit.FULL_ISL, Limit.WATERMARK, Limit.CONTIGUOUS_RUN))
KINDS = ("used", "reserved", "internal", "unusable", "free")
"""The kinds of slots; together they are the whole memory."""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Slots of the GPU's KV memory by kind, an entry for each step."""

    num_slots: int
    """All slots that a scheduler can hand out."""
    used: Ints
    """They hold a token."""
    reserved: Ints
    """Held, empty, and to be filled by their holder later."""
    internal: Ints
    """Held, and never filled: internal fragmentation."""
    unusable: Ints
    """Free, while somebody waits who was refused for want of room: external fragmentation, and
    what is too little for anybody."""
    free: Ints
    """Free, and nobody was refused."""

    def shares(self, weights: NDArray[np.float64]) -> dict[str, float]:
        """The mean share of each kind in the whole memory over the steps, weighted."""
        if not weights.sum():
            return dict.fromkeys(KINDS, 0.0)
        return {kind: float(np.average(getattr(self, kind), weights=weights)) / self.num_slots
                for kind in KINDS}

    def waste(self) -> NDArray[np.float64]:
        """For each step the share of the held slots that holds no token; 0 where none is held."""
        held = self.used + self.reserved + self.internal
        empty: NDArray[np.float64] = (self.reserved + self.internal) / np.maximum(held, 1)
        return empty


def memory_use(trace: Trace, times: TokenTimes | None = None) -> MemoryUse:
    """What the KV memory held in each step of a run."""
    times = times or token_times(trace)
    size = trace.scenario.config.block_size
    slots, filled = _tables(trace, times, size)
    free = size * np.array([row.free_gpu_blocks for row in trace.step_rows], dtype=np.int64)
    num_slots = size * num_usable_blocks(trace)
    refused = np.zeros(trace.num_steps + 1, dtype=bool)
    for event in trace.event_rows:
        if event.kind is Kind.REFUSED and event.cause and event.cause.limit in _ROOM:
            refused[event.step] = True
    refused = refused[: trace.num_steps]
    # Shared blocks are full, so they cancel in both kinds of empty slots. V1 computes prompts
    # beyond max_model_len, which its front end would refuse, without blocks for them.
    reserved, internal = np.maximum(filled - times.kv_tokens, 0), slots - filled
    return MemoryUse(num_slots, num_slots - free - reserved - internal, reserved, internal,
                     np.where(refused, free, 0), np.where(refused, 0, free))


def num_usable_blocks(trace: Trace) -> int:
    """GPU blocks that the scheduler can hand out: V1 keeps one of num_gpu_blocks for itself."""
    if not trace.step_rows:
        return trace.scenario.config.num_gpu_blocks
    held = {
        block
        for lease in trace.lease_rows if lease.device == "gpu" and lease.to_step > 0
        for block, since in zip(lease.blocks, lease.since, strict=True) if since == 0
    }
    return trace.step_rows[0].free_gpu_blocks + len(held)


def largest_free_runs(trace: Trace) -> Ints:
    """For each step the longest run of neighbouring free blocks."""
    usable = np.zeros(trace.scenario.config.num_gpu_blocks, dtype=np.int64)
    usable[-num_usable_blocks(trace):] = 1  # V1's own block is the first
    changes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for lease in _gpu_leases(trace):
        for block, since in zip(lease.blocks, lease.since, strict=True):
            changes[since].append((block, -1))
            changes[lease.to_step].append((block, 1))
    runs = np.zeros(trace.num_steps, dtype=np.int64)
    for step in range(trace.num_steps):
        if step and step not in changes:
            runs[step] = runs[step - 1]
            continue
        for block, change in changes[step]:
            usable[block] += change
        borders = np.flatnonzero(np.concatenate(([1], usable <= 0, [1])))
        runs[step] = np.max(np.diff(borders)) - 1
    return runs


def _tables(trace: Trace, times: TokenTimes, size: int) -> tuple[Ints, Ints]:
    """For each step: slots of all block tables, and how many of them hold a token sooner or later.

    A block counts in every table that it stands in.
    """
    given_up: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for request, step, tokens in times.given_up:
        given_up[request].append((step, tokens))
    slots = np.zeros(trace.num_steps + 1, dtype=np.int64)
    filled = np.zeros(trace.num_steps + 1, dtype=np.int64)
    for lease in _gpu_leases(trace):
        since = np.array(lease.since, dtype=np.int64)
        end = min(lease.to_step, trace.num_steps)
        tokens = next((n for step, n in given_up[lease.request] if since[0] < step), 0)
        in_block = np.clip(tokens - size * np.arange(len(since)), 0, size)
        np.add.at(slots, since, size)
        np.add.at(filled, since, in_block)
        slots[end] -= size * len(since)
        filled[end] -= in_block.sum()
    return np.cumsum(slots)[:-1], np.cumsum(filled)[:-1]


def _gpu_leases(trace: Trace) -> list[TableLease]:
    """The leases on the GPU that lasted a step or longer, without blocks that did not."""
    leases = []
    for lease in trace.lease_rows:
        kept = [(b, s) for b, s in zip(lease.blocks, lease.since, strict=True)
                if s < min(lease.to_step, trace.num_steps)]
        if lease.device == "gpu" and kept:
            blocks, since = zip(*kept, strict=True)
            leases.append(lease._replace(blocks=blocks, since=since))
    return leases

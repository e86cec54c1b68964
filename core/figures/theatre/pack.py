"""A Trace as one compressed block of bytes for the theatre: a JSON header and typed arrays.

Only changes travel: leases of blocks, queue edits, stays, decisions, and one row of numbers per
step. The browser replays them forwards and backwards (timeline.js).
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from core.figures.theatre.header import QUEUES, header_of
from core.figures.theme import LOOKS, look_of
from core.queue_replay import num_shown_steps
from core.token_times import token_times
from core.trace import Kind, Limit, State, StepRow, Trace

NONE = 0xFFFF_FFFF

Columns = dict[str, np.ndarray]


def pack(trace: Trace, extras: dict[str, Any] | None = None) -> bytes:
    """The whole run for the browser.

    Args:
        trace: A finished run.
        extras: Further entries of the header, such as the phenomena.

    Returns:
        zlib-compressed: uint32 length of the header, uint32 zero, header (JSON), arrays (uint32).
    """
    sections: Columns = {}
    for device in ("gpu", "cpu"):
        sections |= _leases(trace, device)
    sections |= _queue_edits(trace)
    sections |= _events(trace)
    sections |= _spans(trace)
    sections |= _rows(trace)
    sections |= _parkings(trace)
    sections |= _unfinished(trace)
    header = header_of(trace) | (extras or {})
    blobs, table, offset = [], {}, 0
    for name, column in sections.items():
        data = np.ascontiguousarray(column, dtype=np.uint32).tobytes()
        table[name] = [offset, len(data) // 4]
        blobs.append(data)
        offset += len(data)
    header["sections"] = table
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return zlib.compress(struct.pack("<II", len(text), 0) + text + b"".join(blobs), 1)


def _leases(trace: Trace, device: str) -> Columns:
    """Every stay of a block with a holder that the picture can show, in order of its beginning."""
    tables = [lease for lease in trace.lease_rows if lease.device == device]
    sizes = [len(lease.blocks) for lease in tables]
    block, since = (np.fromiter(chain.from_iterable(part), dtype=np.uint32, count=sum(sizes))
                    for part in ((t.blocks for t in tables), (t.since for t in tables)))
    per_table = ((t.request, t.to_step, int(t.compressed)) for t in tables)
    owner, until, flag = np.repeat(np.array(list(per_table), dtype=np.uint32).reshape(-1, 3),
                                   sizes, axis=0).T
    position = np.concatenate([np.arange(size) for size in sizes] or [np.arange(0)])
    order = np.argsort(since, kind="stable")
    order = order[(since < until)[order]]
    columns = {"Block": block, "Owner": owner, "Position": position, "From": since, "To": until,
               "Compressed": flag}
    return {device + name: column[order] for name, column in columns.items()}


def _queue_edits(trace: Trace) -> Columns:
    edits = trace.queue_edits
    inserted = [i for edit in edits for i in edit.inserted]
    queue = {name: i for i, name in enumerate(QUEUES)}
    return {
        "editStep": _column([e.step for e in edits]),
        "editQueue": _column([queue[e.queue] for e in edits]),
        "editPosition": _column([e.position for e in edits]),
        "editRemoved": _column([e.removed for e in edits]),
        "editCount": _column([len(e.inserted) for e in edits]),
        "editInserted": _column(inserted),
    }


def _events(trace: Trace) -> Columns:
    events = trace.event_rows
    index = {r.request_id: i for i, r in enumerate(trace.scenario.requests)}
    kinds = {kind: i for i, kind in enumerate(Kind)}
    limits = {limit: i for i, limit in enumerate(Limit)}
    queue = {name: i for i, name in enumerate(QUEUES)}
    causes = [e.cause for e in events]
    return {
        "eventStep": _column([e.step for e in events]),
        "eventKind": _column(kinds[e.kind] for e in events),
        "eventRequest": _optional(e.request for e in events),
        "eventTokens": _column([e.num_tokens for e in events]),
        "eventCached": _column([e.num_cached_tokens for e in events]),
        "eventLine": _optional(e.line for e in events),
        "eventQueue": _optional(None if e.queue is None else queue[e.queue] for e in events),
        "eventBlock": _optional(e.block_id for e in events),
        "eventLimit": _optional(None if c is None else limits[c.limit] for c in causes),
        "eventNeeded": _optional(None if c is None else c.needed for c in causes),
        "eventAvailable": _optional(None if c is None else c.available for c in causes),
        "eventOther": _optional(None if c is None or c.other is None else index.get(c.other)
                              for c in causes),
    }


def _spans(trace: Trace) -> Columns:
    spans = trace.span_rows
    looks = {look: i for i, look in enumerate(LOOKS)}
    kept = [s for s in spans if s.state is not State.FINISHED]
    return {
        "spanRequest": _column([s.request for s in kept]),
        "spanLook": _column(looks[look_of(s.state, s.attempt)] for s in kept),
        "spanFrom": _column([s.from_step for s in kept]),
        "spanTo": _column([s.to_step for s in kept]),
        "spanTokens": _column([s.num_tokens for s in kept]),
    }


def _parkings(trace: Trace) -> Columns:
    """Free blocks that could still be found; in order of their beginning."""
    parkings = sorted(trace.parkings, key=lambda parking: parking.from_step)
    return {
        "parkedBlock": _column([p.block for p in parkings]),
        "parkedFrom": _column([p.from_step for p in parkings]),
        "parkedTo": _column([p.to_step for p in parkings]),
    }


def _unfinished(trace: Trace) -> Columns:
    """The steps that served a request without giving it a token: in the middle of its prompt."""
    unfinished = token_times(trace).unfinished
    return {
        "unfinishedRequest": _column([request for request, _ in unfinished]),
        "unfinishedStep": _column([step for _, step in unfinished]),
    }


def _rows(trace: Trace) -> Columns:
    rows = list(trace.step_rows)
    if not rows:
        config = trace.scenario.config
        rows = [StepRow(0, 0, 0, 0, 0, 0, config.num_gpu_blocks, config.num_cpu_blocks, 0, None)]
    if len(rows) < num_shown_steps(trace):  # the step that died: nothing was computed in it
        rows.append(rows[-1]._replace(num_batched_tokens=0, num_prefill_tokens=0, num_waiting=0))
    return {
        "tokens": _column([r.num_batched_tokens for r in rows]),
        "prefillTokens": _column([r.num_prefill_tokens for r in rows]),
        "seqs": _column([r.seqs_used for r in rows]),
        "freeGpu": _column([r.free_gpu_blocks for r in rows]),
        "freeCpu": _column([r.free_cpu_blocks for r in rows]),
        "numWaiting": _column([r.num_waiting for r in rows]),
    }


def _column(values: Iterable[int]) -> np.ndarray:
    return np.array(list(values), dtype=np.int64).astype(np.uint32)


def _optional(values: Iterable[int | None]) -> np.ndarray:
    """As uint32; a negative number as its two's complement, a missing one as NONE."""
    return _column(NONE if value is None else value for value in values)

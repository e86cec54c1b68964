"""Invariants of the memory: no block is lost, and none is in two tables by mistake."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.invariants.finding import Answer, Breach, Nothing
from core.recorder import Recorder
from core.schedulers import schedulers
from core.sequence import Sequence
from core.trace import Trace

Counts = npt.NDArray[np.int64]

DEVICES = ("gpu", "cpu")


class _Leases(NamedTuple):
    """The stays of single blocks on one device, by block and then by time."""

    block: Counts
    since: Counts
    to: Counts
    request: Counts
    position: Counts
    """In the request's table."""
    taken_until: Counts
    """Up to which step the stays before this one hold the same block."""


def conserved(trace: Trace) -> Answer:
    """Free and held blocks are all blocks, in every step and on each device.

    A block that several requests hold is held once; a parked one (cached, held by nobody) is free.
    """
    if not trace.num_steps:
        return Nothing.TO_CHECK
    breaches = [_lost(trace, device) for device in DEVICES]
    return min(filter(None, breaches), key=lambda b: b.step or 0, default=None)


def in_one_table(trace: Trace) -> Answer:
    """At any time a block is in one table only, or in those of requests that share its content:
    with prefix caching, the same full block of the same prefix."""
    if not trace.lease_rows:
        return Nothing.TO_CHECK
    breaches = [_in_two_tables(trace, device) for device in DEVICES]
    return min(filter(None, breaches), key=lambda b: b.step or 0, default=None)


def _lost(trace: Trace, device: str) -> Breach | None:
    config = trace.scenario.config
    engine = schedulers()[trace.scenario.scheduler](config, Recorder(""))
    pool = engine.blocks.gpu if device == "gpu" else engine.blocks.cpu
    size = pool.num_free  # nothing has happened yet
    leases = _leases(trace, device)
    known = config.num_gpu_blocks if device == "gpu" else config.num_cpu_blocks
    strange = (leases.block < 0) | (leases.block >= known)
    if strange.any():
        first = int(np.argmax(strange))
        return Breach(int(leases.since[first]),
                      {"device": device, "block_id": int(leases.block[first]), "size": known})
    held = _held(leases, trace.num_steps)
    free = np.array([row.free_gpu_blocks if device == "gpu" else row.free_cpu_blocks
                     for row in trace.step_rows])
    wrong = np.flatnonzero(free + held != size)
    if not len(wrong):
        return None
    step = int(wrong[0])
    return Breach(step, {"device": device, "free": int(free[step]), "held": int(held[step]),
                         "size": size})


def _held(leases: _Leases, num_steps: int) -> Counts:
    """For each step the number of blocks that somebody holds."""
    since = np.maximum(leases.since, leases.taken_until)
    counts = since < leases.to
    last = num_steps + 1
    rise = np.bincount(np.minimum(since[counts], last), minlength=last + 1)
    fall = np.bincount(np.minimum(leases.to[counts], last), minlength=last + 1)
    return np.asarray(np.cumsum(rise - fall)[:num_steps], dtype=np.int64)


def _in_two_tables(trace: Trace, device: str) -> Breach | None:
    leases = _leases(trace, device)
    twice = np.flatnonzero(leases.since < leases.taken_until)
    if not len(twice):
        return None
    config = trace.scenario.config
    sequences = [Sequence(i, request) for i, request in enumerate(trace.scenario.requests)]
    keys = [
        sequences[request].block_key((position + 1) * config.block_size)
        for request, position in zip(leases.request.tolist(), leases.position.tolist(),
                                     strict=True)
    ]
    # the stay before that lasts longest holds the block still; equal content is transitive
    holder, until = 0, leases.to.tolist()
    wrong: list[tuple[int, int]] = []
    doubles = set(twice.tolist())
    for each in range(len(keys)):
        if each in doubles:
            if not config.enable_prefix_caching or keys[each] != keys[holder]:
                wrong.append((each, holder))
            holder = each if until[each] > until[holder] else holder
        else:
            holder = each
    if not wrong:
        return None
    each, holder = min(wrong, key=lambda pair: int(leases.since[pair[0]]))
    return Breach(int(leases.since[each]), {
        "device": device, "block_id": int(leases.block[each]),
        "request_id": trace.request_id(int(leases.request[holder])),
        "other": trace.request_id(int(leases.request[each])),
    })


def _leases(trace: Trace, device: str) -> _Leases:
    tables = [lease for lease in trace.lease_rows if lease.device == device]
    lengths = [len(lease.blocks) for lease in tables]
    block = np.fromiter(chain.from_iterable(lease.blocks for lease in tables), np.int64)
    since = np.fromiter(chain.from_iterable(lease.since for lease in tables), np.int64)
    position = np.fromiter(chain.from_iterable(map(range, lengths)), np.int64)
    to = np.repeat(np.array([lease.to_step for lease in tables], np.int64), lengths)
    request = np.repeat(np.array([lease.request for lease in tables], np.int64), lengths)
    order = np.lexsort((to, since, block))
    order = order[since[order] < to[order]]  # who gave a block back in the same step never had it
    block, since, to = block[order], since[order], to[order]
    # running maximum of `to` within a block: shift each block's steps above those of the last
    span = int(to.max()) + 1 if len(to) else 1
    shifted = np.maximum.accumulate(block * span + to)
    until = np.concatenate([[0], shifted[:-1]])[: len(block)] - block * span
    return _Leases(block, since, to, request[order], position[order], np.maximum(until, 0))

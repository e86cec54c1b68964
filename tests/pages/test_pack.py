"""What is sent to the browser is the trace: decoded again, column by column."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np
import pytest

from core import simulate
from core.figures.theatre import script
from core.figures.theatre.pack import NONE, pack
from core.presets import load_presets
from core.queue_replay import num_shown_steps
from core.trace import Kind, Limit, Trace

PRESETS = load_presets()


def unpack(data: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    raw = zlib.decompress(data)
    length, zero = struct.unpack_from("<II", raw)
    assert zero == 0
    header = json.loads(raw[8 : 8 + length])
    columns = {}
    for name, (offset, count) in header["sections"].items():
        columns[name] = np.frombuffer(raw, np.uint32, count, 8 + length + offset)
    return header, columns


def trace_of(preset: str) -> Trace:
    return simulate(PRESETS[preset].scenario)


@pytest.mark.parametrize("preset", ["01_article_demo", "08_compression", "29_v0_shared_prefix",
                                    "46_v1_saturation"])
def test_pack_leases_are_those_of_the_trace(preset: str) -> None:
    trace = trace_of(preset)
    _, columns = unpack(pack(trace))
    ids = [r.request_id for r in trace.scenario.requests]
    for device in ("gpu", "cpu"):
        packed = sorted(
            (int(b), ids[o], int(p), int(f), int(t), bool(c)) for b, o, p, f, t, c in zip(
                *(columns[device + name] for name in ("Block", "Owner", "Position", "From", "To",
                                                      "Compressed")), strict=True))
        frame = trace.leases[trace.leases["device"] == device]
        assert packed == sorted(frame.drop(columns="device").itertuples(index=False, name=None))
        assert list(columns[f"{device}From"]) == sorted(columns[f"{device}From"])


def test_pack_events_are_those_of_the_trace() -> None:
    trace = trace_of("03_recompute_under_pressure")
    header, columns = unpack(pack(trace))
    assert len(columns["eventStep"]) == len(trace.event_rows)
    for i, event in enumerate(trace.event_rows):
        assert columns["eventStep"][i] == event.step
        assert header["kinds"][columns["eventKind"][i]] == event.kind
        request = NONE if event.request is None else event.request
        assert columns["eventRequest"][i] == request
        limit = columns["eventLimit"][i]
        assert (None if limit == NONE else header["limits"][limit]) == (
            event.cause and event.cause.limit)
    assert header["kinds"] == list(Kind) and header["limits"] == list(Limit)


def test_pack_engine_that_died_shows_its_last_step() -> None:
    trace = trace_of("22_v0_engine_dies")
    header, columns = unpack(pack(trace))
    assert header["steps"] == num_shown_steps(trace) == trace.num_steps + 1
    assert len(columns["tokens"]) == header["steps"]
    assert header["outcome"] == "aborted" and "CPU blocks" in header["ending"]


def test_pack_queue_edits_replay_to_the_queues_of_the_trace() -> None:
    from core.presets import queues_after

    trace = trace_of("02_swap_under_pressure")
    header, columns = unpack(pack(trace))
    offsets = np.cumsum([0, *columns["editCount"].tolist()])
    queues: dict[str, list[int]] = {name: [] for name in header["queues"]}
    at = 0
    for step in range(header["steps"]):
        while at < len(columns["editStep"]) and columns["editStep"][at] <= step:
            queue = queues[header["queues"][columns["editQueue"][at]]]
            start = int(columns["editPosition"][at])
            queue[start : start + int(columns["editRemoved"][at])] = columns["editInserted"][
                offsets[at] : offsets[at + 1]].tolist()
            at += 1
        if step % 40 == 0:
            named = {name: [header["ids"][i] for i in members] for name, members in queues.items()}
            assert named == queues_after(trace, step)


def test_pack_is_small_enough_for_a_slider() -> None:
    assert len(pack(trace_of("02_swap_under_pressure"))) < 40_000
    assert len(script()) < 90_000

"""The line that gives ordinary decodes is in the scheduler's file, and it is the one that runs."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from core import simulate
from core.engine import Engine
from core.schedulers import schedulers
from core.source import decode_line, source_file
from tests.conftest import make_requests, make_scenario

EVERY_SCHEDULER = pytest.mark.parametrize("name", schedulers())


@EVERY_SCHEDULER
def test_decode_line_holds_the_call_that_the_scheduler_names(name: str) -> None:
    scheduler = schedulers()[name]
    line = decode_line(scheduler)
    assert line is not None
    text = source_file(scheduler).read_text("utf-8").splitlines()[line - 1]
    assert f".{scheduler.decode_call.partition('.')[2]}(" in text


@EVERY_SCHEDULER
def test_decode_line_runs_once_for_each_decode(name: str) -> None:
    """Two requests of 4 and 6 tokens of output come in step 0. From step 1 on there are decodes
    only: 3 and 5 of them."""
    scheduler = schedulers()[name]
    line, file = decode_line(scheduler), str(source_file(scheduler))
    step = -1
    runs: dict[int, int] = {}

    def trace_lines(frame: FrameType, what: str, _: Any) -> Any:
        nonlocal step
        if frame.f_code.co_filename != file:
            return None
        if what == "call" and frame.f_code.co_name == "schedule":
            step += 1
        if what == "line" and frame.f_lineno == line:
            runs[step] = runs.get(step, 0) + 1
        return trace_lines

    scenario = make_scenario(make_requests(2, output_len=[4, 6]), scheduler=name,
                             num_gpu_blocks=64)
    before = sys.gettrace()
    sys.settrace(trace_lines)
    try:
        trace = simulate(scenario)
    finally:
        sys.settrace(before)
    scheduled = [row.num_scheduled for row in trace.step_rows]
    assert scheduled == [2, 2, 2, 2, 1, 1]
    runs.pop(0, None)
    assert runs == dict(enumerate(scheduled[1:], 1))


def test_decode_line_of_a_scheduler_that_names_no_call_is_none() -> None:
    class Unnamed(Engine):
        pass

    class Misnamed(Engine):
        decode_call = "decide.no_such_call"

    assert decode_line(Unnamed) is None
    assert decode_line(Misnamed) is None

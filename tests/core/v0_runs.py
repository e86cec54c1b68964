"""Short ways to run vLLM's classic scheduler in tests and to read its causes."""

from __future__ import annotations

from typing import Any

from core import Trace
from core.trace import Cause, Kind
from tests.conftest import run


def run_v0(requests: list[dict[str, Any]], **knobs: Any) -> Trace:
    """The trace of V0 with the small defaults of ``make_scenario``."""
    return run(requests, scheduler="vllm_v0", **knobs)


def causes(trace: Trace, kind: Kind) -> list[tuple[int, str | None, Cause | None]]:
    """Step, request and cause of every decision of this kind."""
    return [(e.step, trace.request_id(e.request), e.cause)
            for e in trace.event_rows if e.kind is kind]

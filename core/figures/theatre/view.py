"""A run with its picture: the chart, and what the theatre is given."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import plotly.graph_objects as go

from core.figures.gantt import gantt_alt, plot_gantt
from core.figures.theatre import marks
from core.figures.theatre.pack import pack
from core.trace import Trace


class View(NamedTuple):
    """A run and what is shown of it. Never changed."""

    trace: Trace
    chart: go.Figure
    chart_alt: str
    packed: bytes
    version: str
    """Differs whenever the run differs."""


def chart_height(trace: Trace) -> int:
    """Of the Gantt chart and the grid beside it, in pixels; a projector shows 720 in all."""
    return 262 if len(trace.request_rows) <= 24 else 276


def view_of(trace: Trace, salt: str = "") -> View:
    """Prepare the picture of a run; ``salt`` tells parts of one run apart."""
    version = hashlib.sha256((trace.scenario.to_json() + salt).encode()).hexdigest()[:16]
    height = chart_height(trace)
    return View(trace, plot_gantt(trace, height=height), gantt_alt(trace),
                pack(trace, {"chartHeight": height}), version)


def marks_of(view: View, whole: Trace | None = None, first: int = 0) -> dict[str, Any]:
    """What a run shows and keeps, for the marks under the theatre. Takes as long as the rest.

    Args:
        whole: The run of which the view shows a window; it is the whole that is examined.
        first: The window's first step. Phenomena outside of the window are left out.
    """
    trace = whole or view.trace
    found = marks.phenomena(trace)
    if whole is not None:
        found = marks.within(found, first, view.trace)
    return {"version": view.version, "invariants": marks.invariants(trace), "phenomena": found}

"""A run with its picture: what the theatre is given, and the chart that lies over it."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import plotly.graph_objects as go

from core.figures.gantt import plot_gantt
from core.figures.parts import CLEAR
from core.figures.theatre import marks
from core.figures.theatre.pack import pack
from core.figures.theme import BAND
from core.trace import Trace

FONT = {"family": "Source Sans, system-ui, sans-serif", "size": 12}


class View(NamedTuple):
    """A run and what is shown of it. Never changed."""

    trace: Trace
    packed: bytes
    version: str
    """Differs whenever the run differs."""


def chart_height(trace: Trace) -> int:
    """Of the Gantt chart and the grid beside it, in pixels; a projector shows 720 in all."""
    return 262 if len(trace.request_rows) <= 24 else 276


def view_of(trace: Trace, salt: str = "") -> View:
    """Prepare the theatre of a run; ``salt`` tells parts of one run apart."""
    version = hashlib.sha256((trace.scenario.to_json() + salt).encode()).hexdigest()[:16]
    return View(trace, pack(trace, {"chartHeight": chart_height(trace)}), version)


def chart_of(view: View) -> go.Figure:
    """The chart that lies over the theatre's slot for it; PLACE_CHART colours its text.

    Made apart from the view, so that the browser can unpack the one while the other is made. It
    has no template, and names its data: else Streamlit's component draws every chart twice.
    """
    figure = plot_gantt(view.trace, height=chart_height(view.trace))
    figure.layout.template = None
    return figure.update_layout(
        paper_bgcolor=CLEAR, plot_bgcolor=CLEAR, xaxis_gridcolor=BAND, yaxis_gridcolor=BAND,
        datarevision=view.version, font=FONT, hoverlabel_font=FONT)


def marks_of(view: View) -> dict[str, Any]:
    """What a run shows and keeps, for the marks under the theatre. Takes as long as the rest."""
    return {"version": view.version, "invariants": marks.invariants(view.trace),
            "phenomena": marks.phenomena(view.trace)}


def marks_within(whole: dict[str, Any], part: View, first: int) -> dict[str, Any]:
    """The marks of a window that begins at step ``first``: of the whole run's phenomena those that
    lie in it."""
    return {**whole, "version": part.version,
            "phenomena": marks.within(whole["phenomena"], first, part.trace)}

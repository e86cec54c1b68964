"""Each request's state over time: one row per request, one bar per stay."""

from __future__ import annotations

from collections import defaultdict
from html import escape
from itertools import pairwise
from typing import NamedTuple

import plotly.graph_objects as go

from core.figures.parts import fill
from core.figures.theme import ALARM, LOOKS, look_of
from core.trace import Kind, Limit, Outcome, State, Trace

MAX_LETTERED = 24
"""With more requests than this the rows are too low for letters in the bars."""


MAX_GAPS = 200
"""With more pauses of decodes than this the bars are drawn through: each piece costs time."""

STILL = {"marker": {"opacity": 1}}
"""Nothing fades when something is selected."""


class Bar(NamedTuple):
    """A stay of a request in a state, in steps."""

    row: int
    start: int
    length: int
    num_tokens: int
    attempt: int


def gantt_bars(trace: Trace) -> dict[str, list[Bar]]:
    """The bars of each look, in LOOKS' order. Stays of no length (the ends) are left out.

    A decode that pauses for a prefill step has a gap there, unless there are too many gaps.
    """
    bars: dict[str, list[Bar]] = defaultdict(list)
    pauses = _pauses(trace)
    for span in trace.span_rows:
        look = look_of(span.state, span.attempt)
        if span.state in (State.PREFILL, State.DECODE):  # in a step that dies nothing is computed
            span = span._replace(to_step=min(span.to_step, trace.num_steps))
        cuts = [step for step in pauses if span.state is State.DECODE
                and span.from_step <= step < span.to_step]
        for start, end in pairwise([span.from_step - 1, *cuts, span.to_step]):
            if end > start + 1:
                bars[look].append(Bar(span.request, start + 1, end - start - 1, span.num_tokens,
                                      span.attempt))
    return {look: bars[look] for look in LOOKS if bars[look]}


def _pauses(trace: Trace) -> list[int]:
    """Steps in which all decodes paused for a prompt; none if the gaps would be too many."""
    held = [e.step for e in trace.event_rows
            if e.kind is Kind.HELD and e.cause is not None and e.cause.limit is Limit.PREFILL_STEP]
    gaps = sum(trace.step_rows[step].num_running for step in held)
    return held if gaps <= MAX_GAPS else []


def gantt_ends(trace: Trace) -> list[tuple[int, int]]:
    """Row and step of every request that was ignored."""
    return [(s.request, s.from_step) for s in trace.span_rows if s.state is State.IGNORED]


def plot_gantt(trace: Trace, *, height: int = 340, steps: int | None = None) -> go.Figure:
    """A Gantt chart of the whole run.

    Args:
        trace: A finished run.
        height: In pixels.
        steps: Length of the time axis; by default that of the run.
    """
    lettered = len(trace.scenario.requests) <= MAX_LETTERED
    ids = [escape(request.request_id) for request in trace.scenario.requests]
    drawn = [_bars(look, bars, ids, lettered) for look, bars in gantt_bars(trace).items()]
    if ends := gantt_ends(trace):
        drawn.append(_ends(ends, ids))
    figure = go.Figure(drawn, _layout(trace, height, steps or trace.num_steps))
    if (ending := gantt_ending(trace)) is not None:
        step, text = ending
        figure.add_vline(step, line_color=ALARM, line_width=3, line_dash="dot",
                         annotation_text=f"<b>{text}</b>", annotation_position="top left"
                         if step > trace.num_steps / 2 else "top right",
                         annotation_yanchor="bottom", annotation_font_color="#ffffff",
                         annotation_bgcolor=ALARM)
    return figure


def gantt_ending(trace: Trace) -> tuple[int, str] | None:
    """Where a run that did not finish stops getting on, and how to call it."""
    steps, outcome = trace.num_steps, trace.end.outcome
    if outcome is Outcome.STUCK:
        idle = 0
        while idle < steps and not trace.step_rows[steps - 1 - idle].num_scheduled:
            idle += 1
        return steps - idle, "stuck: nothing can go on"
    if outcome is Outcome.ABORTED:
        return steps, "the engine dies"
    if outcome is Outcome.STEP_LIMIT:
        return steps, "cut off at the step limit"
    return None


def gantt_alt(trace: Trace) -> str:
    """The chart in words, for those who cannot see it."""
    rows = trace.request_rows
    finished = sum(row.state is State.FINISHED for row in rows)
    preempted = sum(row.num_preemptions for row in rows)
    swapped = sum(row.num_swaps for row in rows)
    return (f"Gantt chart of {len(rows)} requests over {trace.num_steps} steps: {finished} finish,"
            f" {preempted} preemptions by recompute, {swapped} by swapping.")


def _bars(look: str, bars: list[Bar], ids: list[str], lettered: bool) -> dict[str, object]:
    """The bars of one look. Lists and not arrays: of those Plotly sees that they are the same."""
    name, letter, color, hatch = LOOKS[look]
    return {
        "type": "bar", "orientation": "h", "name": name, "width": 0.82,
        "marker": fill(color, hatch),
        "y": [bar.row for bar in bars], "base": [bar.start for bar in bars],
        "x": [bar.length for bar in bars], "hovertext": [ids[bar.row] for bar in bars],
        "customdata": [_stay(bar) for bar in bars],
        "hovertemplate": f"<b>%{{hovertext}}</b> {name}<br>%{{customdata}}<extra></extra>",
        "text": [letter] * len(bars) if lettered else None,
        "textposition": "inside", "insidetextanchor": "middle", "textangle": 0,
        "insidetextfont": {"color": "#14181d" if look == "waiting" else "#ffffff", "size": 11},
        "selected": STILL, "unselected": STILL,
    }


def _stay(bar: Bar) -> str:
    last = bar.start + bar.length - 1
    steps = f"step {last}" if bar.length == 1 else f"steps {bar.start} to {last} ({bar.length})"
    return f"{steps}<br>{bar.num_tokens:,} tokens"


def _ends(ends: list[tuple[int, int]], ids: list[str]) -> dict[str, object]:
    name, _, color, _ = LOOKS["ignored"]
    return {
        "type": "scatter", "mode": "markers", "name": name,
        "y": [row for row, _ in ends], "x": [step + 0.5 for _, step in ends],
        "marker": {"symbol": "x", "size": 10, "color": color,
                   "line": {"width": 1, "color": "#fff"}},
        "hovertext": [ids[row] for row, _ in ends],
        "hovertemplate": "<b>%{hovertext}</b> ignored<extra></extra>",
        "selected": STILL, "unselected": STILL,
    }


def _layout(trace: Trace, height: int, steps: int) -> dict[str, object]:
    requests = trace.scenario.requests
    count = len(requests)
    every = max(1, -(-count * 13 // max(height - 70, 1)))
    shown = range(0, count, every)
    top = 34 if gantt_ending(trace) is None else 46  # with its label between legend and bars
    longest = max((len(r.request_id) for r in requests), default=2)
    return {
        "height": height, "barmode": "overlay", "hovermode": "closest", "dragmode": "pan",
        "margin": {"l": min(120, 14 + 7 * min(longest, 14)), "r": 8, "t": top, "b": 24},
        "showlegend": True,
        "legend": {"orientation": "h", "yref": "container", "y": 1, "yanchor": "top", "x": 0,
                   "font": {"size": 12},
                   "itemclick": False, "itemdoubleclick": False},
        "uniformtext": {"mode": "hide", "minsize": 9},
        "xaxis": {"range": [0, max(steps, 1) + (trace.end.outcome is Outcome.ABORTED)],
                  "tickprefix": "step ", "showtickprefix": "first", "tickformat": ",d",
                  "showgrid": True, "zeroline": False, "rangemode": "nonnegative"},
        "yaxis": {"range": [count - 0.5, -0.5], "showgrid": False, "zeroline": False,
                  "tickvals": list(shown), "fixedrange": True,
                  "ticktext": [escape(_short(requests[i].request_id)) for i in shown],
                  "tickfont": {"size": 11}},
    }


def _short(text: str) -> str:
    return text if len(text) <= 14 else text[:13] + "…"

"""The cached run: one Trace, its chart and its packed form for each Scenario asked for."""

from __future__ import annotations

import hashlib
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from core.faults import ScenarioError
from core.figures.theatre.view import View, chart_of, marks_of, view_of
from core.presets import Preset
from core.scenario import Scenario
from core.schedulers import schedulers
from core.simulator import simulate
from core.trace import Trace
from pages.ui import show, sidebar, state

PRESET_RIVAL = "preset"
"""Stands for the counterpart that a preset names."""
LONG = 400
"""With more requests than this a run is shown as bands with a window, and computed with a bar."""
MANY_BARS = 4_000
"""With more stays than this it is shown so too: a browser takes seconds to draw them."""


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={Scenario: Scenario.to_json})
def view(scenario: Scenario) -> View:
    """Run a scenario and prepare its picture.

    Raises:
        ScenarioError: if the scheduler refuses the knobs.
    """
    trace = simulate(scenario)
    return _unpictured(trace) if is_long(trace) else view_of(trace)


def _unpictured(trace: Trace) -> View:
    """A long run, whose pictures are made of a window when they are wanted."""
    version = hashlib.sha256(trace.scenario.to_json().encode()).hexdigest()[:16]
    return View(trace, b"", version)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={View: lambda v: v.version})
def chart(found: View) -> go.Figure:
    """The Gantt chart of a run, or of a part of one."""
    return chart_of(found)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={View: lambda v: v.version})
def marks(found: View) -> dict[str, Any]:
    """What a run shows and keeps."""
    return marks_of(found)


def is_long(trace: Trace) -> bool:
    """Whether there are too many requests for a row each, or too many bars for one picture."""
    return len(trace.request_rows) > LONG or len(trace.span_rows) > MANY_BARS


def current() -> View | None:
    """The run that the controls ask for; with a fault, its message and the last good run.

    Of a long run only the trace is prepared: its pictures are made of a window.
    """
    try:
        scenario = state.scenario()
        found = _long_run(scenario) if len(scenario.requests) > LONG else view(scenario)
    except ScenarioError as error:
        show.faults("These settings do not go together, so the last good run stays", error)
        last: View | None = st.session_state.get("last_good")
        return last
    if found is not None:
        st.session_state["last_good"] = found
    return found


def _long_run(scenario: Scenario) -> View | None:
    """A run with a progress bar and a button that ends it; the last one is kept."""
    key = hashlib.sha256(scenario.to_json().encode()).hexdigest()
    kept: tuple[str, View] | None = st.session_state.get("long_run")
    if kept and kept[0] == key:
        return kept[1]
    if st.session_state.get("cancelled_run") == key:
        asking = st.empty()
        with asking.container():
            st.info("This run was cancelled.")
            if not st.button("Run it after all"):
                return None
        asking.empty()
    st.session_state["cancelled_run"] = key  # until it is done: a click interrupts the run
    count, place = len(scenario.requests), st.empty()
    with place.container():
        st.button("Cancel", key="cancel_run")
        bar = st.progress(0.0, f"Scheduling {count:,} requests ...")
        trace = simulate(scenario, lambda step, ended: bar.progress(
            min(1.0, ended / count), f"{ended:,} of {count:,} requests in {step:,} steps"))
    place.empty()
    st.session_state["cancelled_run"] = None
    found = _unpictured(trace)
    st.session_state["long_run"] = (key, found)
    return found


def rivals(preset: Preset) -> list[str]:
    """What the preset's run can be compared with: its own counterpart first, if it has one."""
    own = [PRESET_RIVAL] if preset.versus else []
    return own + [name for name in schedulers() if name != st.session_state["scheduler"]]


def rival_title(name: str) -> str:
    """How a rival is called in the list."""
    if name != PRESET_RIVAL:
        return sidebar.title(name)
    versus = state.preset().versus or {}
    knobs = ", ".join(f"{k} {v}" for k, v in versus.get("config", {}).items())
    return f"{sidebar.title(versus['scheduler'])} (the preset's: {knobs})"


def rival(preset: Preset, name: str) -> View | None:
    """The run that is compared; None, with a message, if that scheduler refuses the knobs."""
    scenario = state.scenario()
    if name == PRESET_RIVAL and preset.versus:
        scenario = scenario.with_knobs(**preset.versus.get("config", {}))
        name = preset.versus["scheduler"]
    try:
        return view(scenario.model_copy(update={"scheduler": name}))
    except ScenarioError as error:
        show.faults(f"{sidebar.title(name)} does not take these knobs", error)
        return None

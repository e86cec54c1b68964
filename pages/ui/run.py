"""The cached run: one Trace, its chart and its packed form for each Scenario asked for."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import plotly.graph_objects as go
import streamlit as st

from core.faults import ScenarioError
from core.figures.gantt import gantt_alt, plot_gantt
from core.presets import Preset
from core.scenario import Scenario
from core.schedulers import schedulers
from core.simulator import simulate
from core.trace import Trace
from pages.ui import marks, sidebar, state
from pages.ui.theatre.pack import pack


def chart_height(trace: Trace) -> int:
    """Of the Gantt chart and the grid beside it, in pixels; a projector shows 720 in all."""
    return 262 if len(trace.request_rows) <= 24 else 296


PRESET_RIVAL = "preset"
"""Stands for the counterpart that a preset names."""


class View(NamedTuple):
    """A run and what the page shows of it. Shared between sessions: never changed."""

    trace: Trace
    chart: go.Figure
    chart_alt: str
    packed: bytes
    version: str


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={Scenario: Scenario.to_json})
def view(scenario: Scenario) -> View:
    """Run a scenario and prepare its picture.

    Raises:
        ScenarioError: if the scheduler refuses the knobs.
    """
    trace = simulate(scenario)
    version = hashlib.sha256(scenario.to_json().encode()).hexdigest()[:16]
    height = chart_height(trace)
    extras = {"chartHeight": height, "invariants": marks.invariants(trace)}
    return View(trace, plot_gantt(trace, height=height), gantt_alt(trace), pack(trace, extras),
                version)


def current() -> View | None:
    """The run that the controls ask for; with a fault, its message and the last good run."""
    try:
        found = view(state.scenario())
    except ScenarioError as error:
        show_faults(error)
        last: View | None = st.session_state.get("last_good")
        return last
    st.session_state["last_good"] = found
    return found


def show_faults(error: ScenarioError) -> None:
    """Say what is wrong, all of it, and that the picture is the last good one."""
    lines = "\n".join(f"- `{fault.field}` = {fault.value}: {fault.rule}" for fault in error.faults)
    st.error(f"These settings do not go together, so the last good run stays:\n{lines}")


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
        faults = "\n".join(f"- `{f.field}` = {f.value}: {f.rule}" for f in error.faults)
        st.error(f"{sidebar.title(name)} does not take these knobs:\n{faults}")
        return None

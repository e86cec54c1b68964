"""The URL: the preset's name and whatever differs from it, so that a link reopens the run.

Requests of one's own travel in it as a whole scenario, if they are few. Values in a link that are
not valid are left out and told.
"""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from core.cost.machine import Machine
from core.export.permalink import from_permalink, to_permalink
from core.faults import ScenarioError
from core.scenario import EngineConfig
from core.schedulers import schedulers
from pages.ui import state


def start() -> None:
    """Before anything is drawn: take the requests that a page has asked for, and what the URL says
    at first and when the visitor went back to another one."""
    if (wanted := st.session_state.pop("own_wanted", None)) is not None:
        state.take_own(wanted)
    query = st.query_params.to_dict()
    if "preset" not in st.session_state or _went_back(query):
        _take_link(query)


def _went_back(query: dict[str, str]) -> bool:
    """Whether the URL has changed and no control has: by the browser's Back or Forward.

    A control that is moved again before the browser has heard of the last URL is no way back, and
    the bare URL of another page is none either.
    """
    written = st.session_state.get("written_url")
    return bool(query) and query != written and _query() == written


def _take_link(query: dict[str, str]) -> None:
    """Set everything to what a URL says; what is wrong with it is told on the page."""
    notes: list[str] = []
    st.session_state["link_notes"] = notes
    name = query.pop("preset", next(iter(state.shipped_presets())))
    if packed := query.pop("scenario", None):
        try:
            state.take_own(from_permalink(packed))
            return
        except ScenarioError as error:
            notes.append(f"scenario: {error.faults[0].rule}")
    if name not in state.shipped_presets():
        notes.append(f"preset = {name}: there is no such preset")
        name = next(iter(state.shipped_presets()))
    st.session_state["preset"] = name
    state.use_preset()
    for key, text in query.items():
        if fault := _take(key, text):
            notes.append(f"{key} = {text}: {fault}")


def _take(key: str, text: str) -> str | None:
    """Take one parameter of a link; gives what is wrong with it."""
    choices = {"scheduler": tuple(schedulers()), "clock": ("step", "seconds"), **state.MACHINE}
    value = _read(text)
    if key in choices:
        if value not in choices[key]:
            return f"must be one of {', '.join(map(str, choices[key]))}"
        st.session_state[f"machine_{key}" if key in state.MACHINE else key] = value
    elif key in EngineConfig.model_fields:
        try:
            config = EngineConfig(**{key: None if value == state.AUTO else value})
        except ValueError:
            return "not a value for this knob"
        st.session_state[state.PREFIX + key] = state.controls_of(config)[key]
    return None


def write_url() -> None:
    """Put into the URL what differs from the preset, or the visitor's own scenario if it fits."""
    query = _query()
    if query is None:
        return
    st.session_state["written_url"] = query
    if st.query_params.to_dict() != query:
        st.query_params.from_dict(query)


def _query() -> dict[str, str] | None:
    """The parameters of a URL that reopens what the controls describe; None if they describe
    nothing that can be run."""
    if st.session_state["preset"] != state.OWN:
        return {"preset": st.session_state["preset"], **_changes()}
    try:
        packed = to_permalink(state.scenario())
    except ScenarioError:
        return None
    st.session_state["link_too_long"] = None if isinstance(packed, str) else packed
    return {"scenario": packed} if isinstance(packed, str) else {}


def _changes() -> dict[str, str]:
    """The parameters that differ from the preset."""
    base = state.preset().scenario
    own = base.machine or Machine()
    before: dict[str, Any] = {"scheduler": base.scheduler, "clock": base.clock,
                              **state.controls_of(base.config)}
    now = {"scheduler": st.session_state["scheduler"], "clock": st.session_state["clock"],
           **state.chosen()}
    if now["clock"] == "seconds" or base.machine:
        before |= {name: getattr(own, name) for name in state.MACHINE}
        now |= {name: st.session_state[f"machine_{name}"] for name in state.MACHINE}
    return {key: value if isinstance(value, str) else json.dumps(value)
            for key, value in now.items() if value != before[key]}


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text

"""The shared sidebar: preset, scheduler, and the knobs that this scheduler has."""

from __future__ import annotations

import inspect

import streamlit as st

from core.presets import groups
from core.schedulers import schedulers
from pages.ui import knobs, state


def show() -> None:
    """Draw the sidebar. Its values survive a change of the page."""
    with st.sidebar:
        presets = state.presets()
        order = [preset.name for _, members in groups(presets) for preset in members]
        st.selectbox("Preset", order, key="preset", on_change=state.use_preset,
                     format_func=lambda name: presets[name].title,
                     help="A ready scenario: requests, scheduler and knobs.")
        names = list(schedulers())
        st.selectbox("Scheduler", names, key="scheduler", format_func=title,
                     help="The algorithm. Each is one file in core/schedulers.")
        has = schedulers()[st.session_state["scheduler"]].knobs
        for name in knobs.MAIN:
            if name in has:
                knobs.show(name, state.PREFIX + name)
        rest = [name for name in has if name not in knobs.MAIN and name in knobs.KNOBS]
        if rest:
            with st.expander("More knobs"):
                for name in rest:
                    knobs.show(name, state.PREFIX + name)
        if st.button("Back to the preset", width="stretch", on_click=state.use_preset):
            st.toast("All knobs are the preset's again.")


def title(name: str) -> str:
    """A scheduler's title: the first line of its class's docstring, without what is in brackets."""
    line = (inspect.getdoc(schedulers()[name]) or name).splitlines()[0]
    return line.split(" (")[0].rstrip(".")

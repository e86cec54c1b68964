"""The shared sidebar: preset, scheduler, and the knobs that this scheduler has."""

from __future__ import annotations

import inspect

import streamlit as st

from core.presets import Preset, groups
from core.schedulers import schedulers
from pages.ui import knobs, state


def show() -> None:
    """Draw the sidebar. Its values survive a change of the page."""
    with st.sidebar:
        presets = state.presets()
        order = [preset.name for _, members in groups(presets) for preset in members]
        st.selectbox("Preset", order, key="preset", on_change=state.use_preset,
                     format_func=lambda name: preset_title(presets[name]),
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
        state.keep_all_but({state.PREFIX + name for name in has})
        if st.button("Back to the preset", width="stretch", on_click=state.use_preset):
            st.toast("All knobs are the preset's again.")


SHORT = {"vLLM V0": "V0 · ", "vLLM V1": "V1 · ", "V0 beside V1": "V0 | V1 · "}


def preset_title(preset: Preset) -> str:
    """The preset's title with the engine that it is about in front."""
    return SHORT.get(preset.group, "") + preset.title


def title(name: str) -> str:
    """What a scheduler is called: its title, or the first line of its docstring."""
    scheduler = schedulers()[name]
    return scheduler.title or (inspect.getdoc(scheduler) or name).splitlines()[0].rstrip(".")

"""What the visitor has chosen: preset, scheduler and knobs, in the session and in the URL.

The session holds one value per knob under ``knob_<name>``. The URL holds the preset's name and
whatever differs from it, so that a link reopens the same run. Values in a link that are not valid
are left out and told.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import streamlit as st

from core.faults import ScenarioError
from core.presets import FOLDER, Preset, load_presets
from core.scenario import EngineConfig, Scenario
from core.schedulers import schedulers

PREFIX = "knob_"
OWN_PRESETS = "SCHEDULER_PRESETS"
"""Environment variable: a further folder of presets, for a lecture of one's own."""


@st.cache_resource(show_spinner=False)
def presets() -> dict[str, Preset]:
    """The presets, read once: ours, and those of a folder of one's own, if one is named."""
    own = os.environ.get(OWN_PRESETS)
    return load_presets(FOLDER, *([Path(own)] if own else []))


def preset() -> Preset:
    """The chosen preset."""
    return presets()[st.session_state["preset"]]


def start() -> None:
    """At the first run of a session: take the preset and the knobs from the URL."""
    if "preset" in st.session_state:
        return
    query = st.query_params.to_dict()
    name = query.pop("preset", next(iter(presets())))
    notes = []
    if name not in presets():
        notes.append(f"preset = {name}: there is no such preset")
        name = next(iter(presets()))
    st.session_state["preset"] = name
    use_preset()
    scheduler = query.pop("scheduler", None)
    if scheduler in schedulers():
        st.session_state["scheduler"] = scheduler
    elif scheduler is not None:
        notes.append(f"scheduler = {scheduler}: must be one of {', '.join(schedulers())}")
    for knob, text in query.items():
        if knob not in EngineConfig.model_fields:
            continue
        try:
            value = _read(text)
            EngineConfig(**{knob: value})
        except ValueError:
            notes.append(f"{knob} = {text}: not a value for this knob")
        else:
            st.session_state[PREFIX + knob] = value
    st.session_state["link_notes"] = notes


def use_preset() -> None:
    """Set the scheduler and every knob to the chosen preset's."""
    scenario = preset().scenario
    st.session_state["scheduler"] = scenario.scheduler
    for knob, value in scenario.config.model_dump().items():
        st.session_state[PREFIX + knob] = value


def keep_all_but(drawn: set[str]) -> None:
    """Keep the values of knobs that are not drawn in this run; Streamlit would drop them."""
    for knob in EngineConfig.model_fields:
        key = PREFIX + knob
        if key not in drawn:
            st.session_state[key] = st.session_state[key]


def scenario() -> Scenario:
    """The scenario that the controls describe.

    Raises:
        ScenarioError: if the knobs do not go together.
    """
    base = preset().scenario
    config = {k: st.session_state[PREFIX + k] for k in EngineConfig.model_fields}
    try:
        return base.model_copy(update={
            "scheduler": st.session_state["scheduler"], "config": EngineConfig(**config)})
    except ValueError as error:
        from pydantic import ValidationError

        from core.faults import faults_of

        if isinstance(error, ValidationError):
            raise ScenarioError(faults_of(error)) from None
        raise


def write_url() -> None:
    """Put into the URL what differs from the preset."""
    base = preset().scenario
    query = {"preset": st.session_state["preset"]}
    if st.session_state["scheduler"] != base.scheduler:
        query["scheduler"] = st.session_state["scheduler"]
    for knob, value in base.config.model_dump().items():
        chosen = st.session_state[PREFIX + knob]
        if chosen != value:
            query[knob] = json.dumps(chosen) if not isinstance(chosen, str) else chosen
    if st.query_params.to_dict() != query:
        st.query_params.from_dict(query)


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text

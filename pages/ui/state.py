"""What the visitor has chosen, requests to clock, in the session: one value per knob under
``knob_<name>``. link.py holds it against the URL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import streamlit as st
from pydantic import ValidationError

from core.cost.gpus import GPUS
from core.cost.machine import Machine
from core.cost.models import MODELS
from core.faults import ScenarioError, faults_of
from core.presets import FOLDER, Preset, load_presets
from core.runnable import check
from core.scenario import EngineConfig, Scenario

PREFIX = "knob_"
OWN = "own"
"""Stands among the presets for the visitor's own requests."""
OWN_PRESETS = "SCHEDULER_PRESETS"
"""Environment variable: a further folder of presets, for a lecture of one's own."""
MAX_STEPS = 50_000
"""Most steps of a small run that somebody brings along: one in circles must not hold the page."""
AUTO = "auto"
"""What a control holds for a knob that is None: controls cannot hold nothing."""
MACHINE = {"gpu": tuple(GPUS), "model": tuple(MODELS), "tensor_parallel": (1, 2, 4, 8)}
"""What is chosen of a machine, and among what; the session's keys are ``machine_<name>``."""


@st.cache_resource(show_spinner=False)
def shipped_presets() -> dict[str, Preset]:
    """All but the visitor's own requests."""
    own = os.environ.get(OWN_PRESETS)
    return load_presets(FOLDER, *([Path(own)] if own else []))


def presets() -> dict[str, Preset]:
    """The presets by name; the visitor's own requests, if there are any, come first."""
    own: Preset | None = st.session_state.get("own_requests")
    return {**({OWN: own} if own else {}), **shipped_presets()}


def preset() -> Preset:
    """The chosen preset."""
    return presets()[st.session_state["preset"]]


def want_own(scenario: Scenario) -> None:
    """From the next run of the script on, the visitor's own requests are the chosen preset.

    Not at once: the sidebar's controls are drawn already.
    """
    st.session_state["own_wanted"] = scenario


def take_own(scenario: Scenario) -> None:
    """Now the visitor's own requests are the chosen preset.

    Raises:
        ScenarioError: if they cannot be run.
    """
    check(scenario)
    if len(scenario.requests) <= 400:  # computed without a button to cancel
        limit = min(scenario.max_steps, MAX_STEPS)
        scenario = scenario.model_copy(update={"max_steps": limit})
    st.session_state["own_requests"] = Preset(
        OWN, scenario.name, f"{len(scenario.requests):,} requests of your own.",
        "Move the knobs, or choose another scheduler.", scenario, "Your own")
    st.session_state["preset"] = OWN
    use_preset()


def use_preset() -> None:
    """Set the scheduler, every knob and the clock to the chosen preset's."""
    base = preset().scenario
    machine = base.machine or Machine()
    st.session_state.update({PREFIX + k: v for k, v in controls_of(base.config).items()})
    st.session_state.update({"scheduler": base.scheduler, "clock": base.clock})
    st.session_state.update({f"machine_{name}": getattr(machine, name) for name in MACHINE})


def controls_of(config: EngineConfig) -> dict[str, Any]:
    """The knobs as controls hold them."""
    return {k: AUTO if v is None else v for k, v in config.model_dump().items()}


def chosen() -> dict[str, Any]:
    """What the controls of the knobs hold."""
    return {k: st.session_state[PREFIX + k] for k in EngineConfig.model_fields}


def keep_all_but(drawn: set[str]) -> None:
    """Keep the values of controls that are not drawn in this run; Streamlit would drop them."""
    keys = {PREFIX + knob for knob in EngineConfig.model_fields}
    for key in keys | {"clock"} | {f"machine_{name}" for name in MACHINE}:
        if key not in drawn:
            st.session_state[key] = st.session_state[key]


def machine() -> Machine:
    """The machine that the controls describe; what they do not tell is the preset's."""
    base = preset().scenario.machine or Machine()
    chosen = {name: st.session_state[f"machine_{name}"] for name in MACHINE}
    if chosen["gpu"] != base.gpu:  # fitted efficiencies belong to their GPU
        base = base.model_copy(update=dict.fromkeys(
            ("compute_efficiency", "memory_efficiency", "host_link_gb_s")))
    return Machine(**{**base.model_dump(), **chosen})


def scenario() -> Scenario:
    """The scenario that the controls describe.

    Raises:
        ScenarioError: if the knobs do not go together.
    """
    base = preset().scenario
    try:
        config = EngineConfig(**{k: None if v == AUTO else v for k, v in chosen().items()})
        clock = st.session_state["clock"]
        return base.model_copy(update={
            "scheduler": st.session_state["scheduler"], "config": config, "clock": clock,
            "machine": machine() if clock == "seconds" or base.machine else None})
    except ValidationError as error:
        raise ScenarioError(faults_of(error)) from None

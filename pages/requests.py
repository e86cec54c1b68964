"""Requests of one's own: from a file, from a seeded generator, or typed into a table."""

import streamlit as st

from core.checked import json_data
from core.faults import ScenarioError
from core.runnable import runnable
from core.scenario import Scenario
from core.workloads import (
    Options,
    Workload,
    apply,
    formats,
    read,
    recognise,
    sentences,
    to_requests,
    to_scenario,
)
from pages.ui import show, state, workload_forms
from pages.ui.frame import inside_frame

inside_frame("requests")

EDITABLE = 500  # a table with more rows is no pleasure to edit


@st.cache_resource(max_entries=4, show_spinner=False)
def read_once(data: bytes, companion: bytes) -> Workload:
    """The workload in a file; not read again for every change of the slice."""
    return read(data, Options(companion=companion))


def offer(workload: Workload, name: str) -> None:
    """Choose a slice, see what it is like, and take it."""
    part = workload_forms.slice_form(workload)
    if part is None:
        return
    workload = apply(workload, part)
    if not workload.rows:
        st.info("No request is left: take more of them.")
        return
    st.markdown("\n".join(f"- {line}" for line in sentences(workload.summary)))
    if workload.format == "plain_csv" and st.toggle(
            "With the present scheduler, knobs and clock", value=True, key="requests_like",
            help="Off: with knobs that fit these requests."):
        if st.button("Schedule these requests", type="primary"):
            data = state.scenario().model_dump()
            data["requests"] = [r.model_dump() for r in to_requests(workload)]
            state.want_own(Scenario.parse({**data, "name": name[:120] or "imported"}))
            st.switch_page("pages/run.py")
        return
    scheduler = st.session_state["scheduler"]
    seconds = None
    if workload.time_unit == "step" or st.session_state["clock"] == "step":
        seconds = workload_forms.seconds_per_step() if workload.time_unit == "s" else None
    if st.button("Schedule these requests", type="primary"):
        state.want_own(to_scenario(workload, name=name[:120] or "imported", scheduler=scheduler,
                                   seconds_per_step=seconds, machine=state.machine()))
        st.switch_page("pages/run.py")


def from_file() -> None:
    """A trace file of any known format."""
    file = st.file_uploader(
        "A trace file, of any of the known formats", key="requests_file", max_upload_size=256,
        help="Recognised by content. It is not kept, and nothing in it is executed.")
    with st.expander("Which formats are known"):
        st.markdown("\n".join(f"- {form.TITLE}" for form in formats().values()))
    if file is None:
        return
    if recognise(file.getvalue()) == "scenario_json" and st.toggle(
            "With its scheduler and knobs", value=True, key="requests_whole",
            help="Off: only its requests."):
        whole_scenario(file.getvalue())
        return
    companion = None
    if recognise(file.getvalue()) == "servegen":
        companion = st.file_uploader("The client's other file (trace or dataset)",
                                     key="requests_companion")
        if companion is None:
            return
    with st.spinner("Reading ..."):
        workload = read_once(file.getvalue(),
                             companion.getvalue() if companion is not None else b"")
    offer(workload, file.name.rsplit(".", 1)[0])


def whole_scenario(data: bytes) -> None:
    """A scenario, or a preset's, as it is."""
    found = json_data(data)
    scenario = runnable(found.get("scenario", found) if isinstance(found, dict) else found)
    st.markdown(f"- {scenario.name}: {len(scenario.requests):,} requests for"
                f" {scenario.scheduler}, with its knobs.")
    if st.button("Open this scenario", type="primary"):
        state.want_own(scenario)
        st.switch_page("pages/run.py")


def typed() -> None:
    """The present requests as a table that can be edited."""
    present = state.scenario()
    if len(present.requests) > EDITABLE:
        st.info(f"These are {len(present.requests):,} requests; a table to edit has at most"
                f" {EDITABLE}. Take a slice of them first.")
        return
    edited = workload_forms.request_table(present)
    if st.button("Schedule these requests", type="primary"):
        data = present.model_dump(exclude_defaults=True, exclude={"requests"})
        scenario = workload_forms.scenario_of_table(data, edited)
        state.want_own(scenario)
        st.switch_page("pages/run.py")


st.markdown("#### Requests of your own")
way = st.segmented_control("Where from", ["A file", "A generator", "A table"], default="A file",
                           required=True, key="requests_way", label_visibility="collapsed")
try:
    if way == "A file":
        from_file()
    elif way == "A generator":
        generated = workload_forms.generator_form()
        offer(generated, "generated")
    else:
        typed()
except ScenarioError as error:
    show.faults("This cannot be used; the current run stays as it is", error)

"""What a visitor can take with them: files of every kind, and a link."""

from __future__ import annotations

import streamlit as st

from core.export.formats import SCENARIO_EXPORTS, TRACE_EXPORTS
from core.export.names import file_name
from core.figures.theatre.standalone import standalone_html
from core.figures.theatre.view import View
from core.trace import Trace
from pages.ui import state
from pages.ui.run import LONG, is_long

LABELS = {
    "csv": ("All tables, zip of CSV", "steps, events, spans, leases, requests, and the metrics"),
    "perfetto": ("Perfetto trace", "open it at ui.perfetto.dev or chrome://tracing: one track per"
                 " request, counters for queues and blocks"),
    "recorded": ("Recording", "the form in which the real engines were recorded; `python -m core"
                 " replay` reads it"),
    "scenario": ("Scenario", "everything the run depends on, as JSON: a bug report in one file"),
}


def files(view: View) -> None:
    """Buttons for each kind of file; a file is made when its button is clicked."""
    trace = view.trace
    columns = st.columns(5)
    for column, (name, (label, text)) in zip(columns, LABELS.items(), strict=False):
        if name == "recorded" and not _recordable(trace):
            continue
        if name in TRACE_EXPORTS:
            kind, subject = TRACE_EXPORTS[name], trace
        else:
            kind, subject = SCENARIO_EXPORTS[name], trace.scenario  # type: ignore[assignment]
        column.download_button(
            label, data=lambda kind=kind, subject=subject: kind.make(subject), mime=kind.mime,
            file_name=file_name(trace.scenario, kind.suffix), help=text, on_click="ignore",
            width="stretch")
    if is_long(trace):
        columns[4].caption("A page that plays is made of runs with at most"
                           f" {LONG} requests and not too many stays: take a slice.")
        return
    columns[4].download_button(
        "Page that plays", data=lambda: standalone_html(view), mime="text/html",
        file_name=file_name(trace.scenario, ".html"), on_click="ignore", width="stretch",
        help="The theatre with this run as one HTML file that plays without a server, for slides"
             " and for those without Python (5 MB).")


def _recordable(trace: Trace) -> bool:
    scenario = trace.scenario
    return (scenario.scheduler.startswith("vllm_") and scenario.clock == "step"
            and not is_long(trace) and not any(r.prefix_hashes for r in scenario.requests))


def link() -> None:
    """The address that reopens this run."""
    if state.preset().name != state.OWN:
        st.caption("The address in the browser's bar reopens exactly this run.")
        return
    if too_long := st.session_state.get("link_too_long"):
        st.caption(f"{too_long.num_requests:,} requests are too many for a link"
                   f" ({too_long.num_chars:,} of {too_long.max_chars:,} characters): pass on the"
                   " scenario file instead.")
    else:
        st.caption("The address in the browser's bar holds the whole scenario.")



"""A measured run of a real server beside the simulated one."""

import pandas as pd
import streamlit as st

from core.cost.gpus import GPUS
from core.faults import ScenarioError
from core.figures.measured_over_time import (
    COLUMNS,
    measured_curves,
    measured_over_time_alt,
    plot_measured_over_time,
    simulated_curves,
)
from core.figures.measured_scatter import measured_scatter_alt, pairs, plot_measured_scatter
from core.figures.parts import digits
from core.measured_check import Comparison, compare_measured, per_request
from pages.ui import measured_runs, numbers, show
from pages.ui.frame import inside_frame
from pages.ui.measured_runs import NAMES, Held

inside_frame("measured")
DURATIONS = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2el_s": "latency"}
LABELS = {**DURATIONS, "duration_s": "whole run", "num_running": "running",
          "num_waiting": "waiting"}
BY_FILES = "as the files say"
FITTED = "the GPU's own"
EFFICIENCIES = [FITTED, *(round(0.4 + 0.01 * k, 2) for k in range(61))]
PUBLISHED = (
    ("mean TTFT", "+1.0 %", "−1.1 %"), ("mean TPOT", "−0.9 %", "+1.1 %"),
    ("mean latency", "+0.5 %", "+0.5 %"), ("running, peak", "48 of 49", "128 of 128"),
    ("waiting, peak", "235 of 234", "106 of 104"), ("efficiency, fitted", "0.87", "0.72"),
)
"""What is off on the runs that LLMServingSim publishes; a test holds the simulator to it."""


def choose() -> tuple[measured_runs.Files, bool]:
    """The files, and whether they are the visitor's."""
    with st.expander("Upload the files of a measured run", icon=":material/upload_file:"):
        given = st.file_uploader(
            f"The three files {', '.join(NAMES)}", accept_multiple_files=True,
            key="measured_files", type=["jsonl", "csv", "json"], max_upload_size=64,
            help="As LLMServingSim publishes them. Read in memory; nothing is kept.")
        st.markdown(
            "- `requests.jsonl`: a request per line, with `input_toks`, `output_toks` and, in"
            " seconds, `queued_ts`, `first_token_ts`, `last_token_ts`\n"
            "- `timeseries.csv`: `running` and `waiting` for each second\n"
            "- `meta.json`: model, GPU and engine arguments")
    if given:
        st.session_state["measured_kept"] = tuple((file.name, file.getvalue()) for file in given)
    kept = st.session_state.get("measured_kept")
    if kept and not given and st.button("Forget the uploaded files"):
        del st.session_state["measured_kept"]
        kept = None
    return (kept, True) if kept else (measured_runs.made_up(), False)


def line(row: Comparison) -> tuple[str, ...]:
    """A row of the table, in the unit of the screen."""
    scale, unit = (1000, ", ms") if row.key in DURATIONS else (1, ", s") \
        if row.key == "duration_s" else (1, "")
    return (f"{LABELS[row.key]} {row.statistic}{unit}", digits(row.measured * scale),
            digits(row.simulated * scale), f"{row.difference:+.1%}".replace("-", "−"))


def pictures(held: Held) -> pd.DataFrame:
    """Per request, and over time. Gives the table of the requests."""
    frame = per_request(held.run, held.trace)
    left, right = st.columns([1, 1.15], gap="medium")
    with left:
        key = st.segmented_control("Each request", list(DURATIONS), default="e2el_s",
                                   required=True, key="measured_duration",
                                   format_func=DURATIONS.get, persist_state="session",
                                   label_visibility="collapsed")
        found = pairs(frame, key, 1000)
        numbers.chart(plot_measured_scatter(found, DURATIONS[key], "ms"),
                      measured_scatter_alt(found, DURATIONS[key], "ms"), "measured_scatter")
    with right:
        ours = measured_curves(held.run, held.tick_s)
        until = ours["num_running"].times_s[-1] if held.run.ticks else 0.0
        theirs = simulated_curves(held.trace, until, held.tick_s)
        numbers.chart(plot_measured_over_time(ours, theirs), measured_over_time_alt(ours, theirs),
                      "measured_over_time")
    return frame


st.markdown("#### Measured and simulated\nThe requests of a measured run, scheduled again by vLLM"
            " V1 with this clock: points on the diagonal agree. Independent of the sidebar.")
files, own = choose()
one, two = st.columns(2)
gpu = one.selectbox("GPU", [BY_FILES, *GPUS], key="measured_gpu", persist_state="session")
share = two.select_slider(
    "Efficiency: share of the GPU's peaks that is reached", EFFICIENCIES, FITTED,
    key="measured_efficiency", persist_state="session",
    help="For compute and for memory. Move it until the means agree: that is fitting.")
try:
    held = measured_runs.hold(files, None if gpu == BY_FILES else gpu,
                              None if share == FITTED else float(share))
except ScenarioError as error:
    show.faults("These files cannot be used", error)
    st.stop()
if not own:
    st.info("**Made up, not measured**: computed by this model with a GPU that reaches"
            f" {measured_runs.MADE_UP_EFFICIENCY:.0%} of its peaks. Move the efficiency until the"
            " points lie on the diagonal; that is fitting.")
requests = pictures(held)
rates, card = held.machine.rates(), held.machine.hardware
st.caption(f"{len(held.run.requests)} requests, {held.machine.model} on"
           f" {held.machine.tensor_parallel} × {held.machine.gpu},"
           f" {rates.flops / card.tflops / 1e12:.0%} of peak compute and"
           f" {rates.memory / card.bandwidth_gb_s / 1e9:.0%} of peak bandwidth.")
rows = compare_measured(held.run, held.trace)
left, right = st.columns(2, gap="medium")
with left:
    numbers.table(("", "measured", "simulated", "difference"),
                  [line(row) for row in rows if row.statistic not in ("median",)])
with right:
    st.markdown(
        "**How far to trust it.** Two parameters of each GPU are **fitted** to a measured run: the"
        " shares of its peak compute and of its peak bandwidth that kernels reach. **Without,"
        " expect to be off by 15 to 25 %**, as the RTX PRO 6000 is with the RTX 4090's share. With"
        " them two published runs (LLMServingSim: Llama-3.1-8B, vLLM 0.19, 300 ShareGPT requests)"
        " are met like this:")
    numbers.table(("", "RTX 4090", "RTX PRO 6000"), PUBLISHED)
with st.expander("The charts as tables"):
    st.dataframe(requests.round(4), hide_index=True, height=280)
    curves = {"measured": measured_curves(held.run, held.tick_s),
              "simulated": simulated_curves(held.trace, 0.0, held.tick_s)}
    st.dataframe(pd.DataFrame({
        f"{name} {side}": pd.Series(curve[column].values, curve[column].times_s)
        for column, name in COLUMNS.items() for side, curve in curves.items()}).rename_axis(
            "seconds"), height=280)

"""The serving metrics of the run on screen, as ``vllm bench serve`` names them."""

import streamlit as st

from core.export.csv import metrics_csv, request_metrics_csv
from core.export.names import file_name
from core.figures.ecdf import ecdf_alt, plot_ecdf
from core.figures.histogram import histogram, plot_histogram
from core.metric_names import COUNTS, DURATIONS, INSTANTS, STATISTICS, TOTALS
from core.metrics import Metrics, Objectives, metrics
from core.trace import Trace
from pages.ui import numbers, run, state
from pages.ui.frame import inside_frame
from pages.ui.numbers import Times, times_of
from pages.ui.sidebar import title

inside_frame("metrics")
CHOICES = {m.key: m.name for m in DURATIONS}


@st.cache_resource(max_entries=32, show_spinner=False)
def measure(version: str, _trace: Trace, ttft_s: float | None, tpot_s: float | None) -> Metrics:
    """The metrics of the run with this version. Shared between sessions: never changed."""
    return metrics(_trace, Objectives(ttft_s, tpot_s))


def objective(name: str, times: Times) -> float | None:
    """What a request must keep, in seconds or steps."""
    value = st.number_input(
        f"{name} objective, {times.unit}", 0.0, None, None, key=f"metrics_{name}_{times.unit}",
        placeholder="none", persist_state="session",
        help=f"A finished request counts for the goodput if its {name} is at most this.")
    return None if value is None else value / times.scale


def latencies(found: Metrics, times: Times) -> None:
    """Each duration with its statistics."""
    rows = [(f"**{m.name}**" + (f", {numbers.unit_of(m, times)}" if "/" in m.unit else ""),
             *(numbers.shown(m, found.summary.loc[m.key, s], times) for s in STATISTICS))
            for m in DURATIONS]
    numbers.table((times.unit, *STATISTICS), rows)


def distribution(found: Metrics, times: Times, limits: dict[str, float | None]) -> None:
    """The distribution of one of them."""
    one, two = st.columns([1.7, 1], vertical_alignment="bottom")
    key = one.selectbox("Distribution of", list(CHOICES), index=1, format_func=CHOICES.get,
                        key="metrics_choice", persist_state="session")
    kind = two.segmented_control("Shown as", ["curve", "bars"], default="curve", required=True,
                                 key="metrics_kind", persist_state="session", width="stretch")
    metric = next(m for m in DURATIONS if m.key == key)
    done = found.requests[found.requests["outcome"] == "finished"]
    values = (found.itl_s if key == "itl_s" else done[key].to_numpy()) * times.scale
    unit, limit = numbers.unit_of(metric, times), limits.get(key)
    limit = None if limit is None else limit * times.scale
    plot = plot_histogram(values, unit, name=metric.name, limit=limit, height=262) \
        if kind == "bars" else plot_ecdf({key: values}, unit, name=metric.name, limit=limit,
                                         height=262)
    numbers.chart(plot, ecdf_alt({metric.name: values}, unit, metric.name), "metrics_chart")
    with st.expander("The chart as a table"):
        st.dataframe([{f"from, {unit}": b.low, f"to, {unit}": b.high, "values": b.num_values}
                      for b in histogram(values)], hide_index=True, height=200)


def requests_table(found: Metrics, times: Times) -> None:
    """Every request, in the units of the screen."""
    frame = found.requests.copy()
    named = {m.key: m for m in (*INSTANTS, *DURATIONS, *COUNTS)}
    for key, metric in named.items():
        if key in frame and metric.unit.startswith("time"):
            frame[key] = frame[key] * times.scale
    labels = {k: f"{m.name}, {unit}" if (unit := numbers.unit_of(m, times)) else m.name
              for k, m in named.items() if k in frame}
    labels |= {"request_id": "request", "prompt_len": "prompt tokens"}
    frame = frame.rename(columns=labels)
    st.dataframe(frame.round(2), hide_index=True, height=min(420, 38 + 35 * len(frame)))


def definitions(times: Times) -> None:
    """What each number means: instants first, durations second."""
    for heading, group in (("Instants", INSTANTS), ("Durations", DURATIONS),
                           ("Counts of a request", COUNTS), ("The whole run", TOTALS)):
        st.markdown(f"**{heading}**\n" + "\n".join(
            f"- **{m.name}** ({numbers.unit_of(m, times) or 'number'}): {m.definition}"
            for m in group))


view = run.current()
if view is None:
    st.stop()
trace = view.trace
times, scenario = times_of(trace), trace.scenario
clock = (f"Times are milliseconds on {scenario.machine.tensor_parallel} × {scenario.machine.gpu} "
         f"with {scenario.machine.model}." if times.unit == "ms" and scenario.machine else
         "The clock counts **steps**: times are steps. For milliseconds choose the clock in"
         " seconds in the sidebar, under Clock and machine.")
st.markdown(f"#### The metrics of this run\n*{state.preset().title}*, {title(scenario.scheduler)}."
            f" Look at how far the p99 is from the median: that is who waited. {clock}")

left, right = st.columns([1.06, 1], gap="medium")
with left:
    ttft, tpot = st.columns(2)
    with ttft:
        ttft_limit = objective("TTFT", times)
    with tpot:
        tpot_limit = objective("TPOT", times)
    found = measure(view.version, trace, ttft_limit, tpot_limit)
    latencies(found, times)
with right:
    distribution(found, times, {"ttft_s": ttft_limit, "tpot_s": tpot_limit})
numbers.tiles((m.name, numbers.shown(m, found.totals[m.key], times),
               "" if m.unit == "bytes" else numbers.unit_of(m, times), m.definition)
              for m in TOTALS)
with st.expander("Every request"):
    requests_table(found, times)
with st.expander("What each number means"):
    definitions(times)
for column, (name, make) in zip(st.columns(4), (("metrics", metrics_csv),
                                                ("request_metrics", request_metrics_csv)),
                                strict=False):
    column.download_button(
        f"{name}.csv", data=lambda make=make: make(view.trace), mime="text/csv",
        file_name=file_name(view.trace.scenario, f"_{name}.csv"), on_click="ignore",
        icon=":material/download:", width="stretch")

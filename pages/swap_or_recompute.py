"""Swap or recompute: what one preemption costs, and the same run each way."""

import pandas as pd
import streamlit as st

from core.cost.codecs import CODECS, Codec
from core.cost.machine import Machine
from core.faults import ScenarioError
from core.figures.parts import digits
from core.figures.preemption_costs import (
    break_even_sentence,
    plot_preemption_costs,
    preemption_costs_alt,
)
from core.figures.states_each_way import plot_states_each_way, states_each_way_alt
from core.figures.theme import LOOKS, WAY_LINES
from core.swap_or_recompute import break_evens, preemption_costs
from pages.ui import each_way, numbers, show, sidebar, state
from pages.ui.frame import inside_frame
from pages.ui.machine_form import machine_form

inside_frame("swap_or_recompute")
LENGTHS = [2**k for k in range(4, 15)]
LINKS = (None, 3, 6, 12, 25, 50, 100, 200, 450)
ON_SCREEN = "the run on screen"
READY = ("81_seconds_a100_swap", "02_swap_under_pressure", "21_v0_swap", "08_compression")
SCHEDULERS = ("vllm_v0", "article_repaired")


def choose() -> tuple[Machine, int, Codec | None] | None:
    """Machine, block size and codec; None, with a message, if there is no such machine."""
    columns = st.columns([1.1, 1.1, 1, 1.1, 1, 1])
    link = columns[3].select_slider(
        "Link, GB/s", LINKS, key="swap_link", persist_state="session",
        format_func=lambda rate: "GPU's" if rate is None else f"{rate}",
        help="To the host's memory, one way, of each GPU. PCIe 3, 4, 5: about 12, 25, 50.")
    size = columns[4].select_slider("Block size", [8, 16, 32, 64, 128], 16, key="swap_size",
                                    help="Tokens per block.", persist_state="session")
    codec = columns[5].selectbox(
        "Compression", ["none", *CODECS], 1, key="swap_codec", persist_state="session",
        format_func=lambda name: f"{name}, {CODECS[name].ratio:g}:1" if name in CODECS else name,
        help="On the GPU, before the blocks cross the link. Ratios and speeds: KVShuttle.")
    chosen = CODECS.get(codec)
    try:
        machine = machine_form("swap", columns[:3], Machine(), host_link_gb_s=link)
    except ScenarioError as error:
        show.faults("This machine cannot be", error)
        return None
    return each_way.with_codec(machine, chosen), size, chosen


def one_preemption(machine: Machine, size: int, codec: Codec | None) -> None:
    """Time and bytes against the length."""
    costs = preemption_costs(machine, size, LENGTHS, codec)
    turns = break_evens(machine, size, LENGTHS[-1])
    numbers.chart(plot_preemption_costs(costs, turns), preemption_costs_alt(costs, turns),
                  "swap_costs")
    gains = [c.num_tokens for c in costs if c.cheapest == "compressed_swap"]
    where = {0: "no length", len(costs): "every length"}.get(
        len(gains), f"{len(gains)} of the {len(costs)} lengths")
    extra = "" if codec is None else (
        f" Compressed, swapping is the cheapest of all at {where} shown; the keys come back with a"
        f" cosine of {codec.key_cosine:.4f} to the old ones.")
    st.markdown(f"On {machine.tensor_parallel} × {machine.gpu} with {machine.model},"
                f" {machine.rates().host_link / 1e9:g} GB/s and blocks of {size}:"
                f" **{break_even_sentence(turns, LENGTHS[-1])}**.{extra}")
    with st.expander("The curves as a table"):
        numbers.table(
            ("tokens", "blocks", "swap, ms", "swap, MiB", "recompute, ms", "recompute, tokens",
             "compressed, ms", "compressed, MiB", "cheapest"),
            [(f"{c.num_tokens:,}", f"{c.num_blocks:,}", digits(1000 * c.swap_s),
              digits(c.swap_bytes / 2**20), digits(1000 * c.recompute_s),
              f"{c.recomputed_tokens:,}",
              digits(None if c.compressed_s is None else 1000 * c.compressed_s),
              digits(None if c.compressed_bytes is None else c.compressed_bytes / 2**20),
              WAY_LINES[c.cheapest].name) for c in costs], 0)


def same_run(machine: Machine, codec: Codec | None) -> None:
    """One workload, preempted each way."""
    one, two = st.columns(2)
    presets = state.presets()
    choices = [*(name for name in READY if name in presets), ON_SCREEN]
    name = one.selectbox("The same run each way", choices, key="swap_run",
                         persist_state="session", help="Run on the machine chosen above.",
                         format_func=lambda n: presets[n].title if n in presets else n)
    scheduler = two.segmented_control("Scheduler", SCHEDULERS, default=SCHEDULERS[1],
                                      required=True, key="swap_scheduler",
                                      format_func=sidebar.title, persist_state="session")
    try:
        scenario = presets[name].scenario if name in presets else state.scenario()
        if len(scenario.requests) > each_way.MOST_REQUESTS:
            st.info(f"At most {each_way.MOST_REQUESTS} requests are run each way here.")
            return
        runs = each_way.each_way(scenario, scheduler, machine, codec)
    except ScenarioError as error:
        show.faults("This run cannot be preempted each way", error)
        return
    for way, found in runs.items():
        if found.ended:
            st.warning(f"{WAY_LINES[way].name}: {found.ended}")
    states = {way: found.states for way, found in runs.items()}
    left, right = st.columns([1, 1.12], gap="medium")
    with left:
        numbers.chart(plot_states_each_way(states), states_each_way_alt(states), "swap_states")
    with right:
        columns = [found.column for found in runs.values()]
        numbers.table(("", *(WAY_LINES[way].name for way in runs)),
                      [(label, *(column[label] for column in columns)) for label in columns[0]])
    with st.expander("The panels as a table"):
        st.dataframe(pd.concat([pd.DataFrame({
            "way": WAY_LINES[way].name, "from, s": each.starts_s,
            **{LOOKS[look].name: counts for look, counts in each.counts.items()}})
            for way, each in states.items()]).round(3), hide_index=True, height=220)
    if "compressed_swap" not in runs and codec:
        st.caption("vLLM V0 knows no compressed swap; the article's section 5.3 proposes it.")


st.markdown("#### Swap or recompute?\nA preempted request's blocks are moved to the host and back,"
            " or computed again: see where the curves cross. Independent of the sidebar.")
if (chosen := choose()) is None:
    st.stop()
one_preemption(*chosen)
same_run(chosen[0], chosen[2])
st.markdown(
    "Swapping pays for bytes, and for a copy of K and of V per block and layer, so small blocks"
    " are dear. Recomputing pays for a step of its own: short requests for reading all weights,"
    " long ones for attention, which grows with the square. In a run more than the price differs:"
    " who was swapped comes back before anybody new, who is to be recomputed queues again.")

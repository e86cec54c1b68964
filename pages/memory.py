"""The KV memory: how much of it there is, and what lies in it under each scheduler."""

import numpy as np
import pandas as pd
import streamlit as st

from core import memory
from core.claim import ClaimWorkload
from core.cost.machine import Machine
from core.faults import ScenarioError
from core.figures.memory_over_time import (
    UseOverTime,
    memory_over_time_alt,
    plot_memory_over_time,
)
from core.figures.memory_shares import memory_shares_alt, plot_memory_shares
from core.figures.memory_sum import NAMES, memory_sum_alt, plot_memory_sum, stairs
from core.figures.theme import MEMORY_LOOKS, scheduler_name
from core.workloads import Lengths
from pages.ui import length_cases, numbers, show, state
from pages.ui.frame import inside_frame
from pages.ui.machine_form import machine_form
from pages.ui.memory_runs import Contents, held_by_each

inside_frame("memory")
SUM, CONTENTS = "How many blocks there are", "What lies in them"
BLOCK_SIZES = (4, 8, 16, 32, 64, 128, 256)


def sum_part() -> None:
    """From GPU and model to num_gpu_blocks, line by line."""
    gpu, model, parallel, size = st.columns([1, 1, 0.8, 0.6])
    block_size = size.selectbox("Block size", BLOCK_SIZES, 2, key="memory_block_size",
                                help="Tokens per block.", persist_state="session")
    try:
        machine = machine_form("memory", [gpu, model, parallel],
                               Machine(gpu="RTX 4090", model="Llama-3-8B"))
    except ScenarioError as error:
        show.faults("This machine cannot be", error)
        return
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        share = st.slider("GPU memory utilization", 0.3, 1.0, 0.9, 0.01, key="memory_share",
                          help="vLLM's name: `gpu_memory_utilization`.", persist_state="session")
        tokens = st.select_slider(
            "Token budget", [512, 1024, 2048, 4096, 8192, 16384], 2048, key="memory_tokens",
            help="The largest step's activations have to fit too.", persist_state="session")
        seqs = st.select_slider(
            "Sequence budget", [16, 32, 64, 128, 256, 512, 1024], 256, key="memory_seqs",
            help="So many rows of logits are sampled at once.", persist_state="session")
        swap = st.slider("Swap space, GiB of each GPU", 0.0, 64.0, 4.0, 1.0, key="memory_swap",
                         help="vLLM's name: `swap_space` (V0).", persist_state="session")
    blocks = memory.num_gpu_blocks(machine, block_size, gpu_memory_utilization=share,
                                   max_num_batched_tokens=tokens, max_num_seqs=seqs)
    with right:
        numbers.chart(plot_memory_sum(blocks, height=300), memory_sum_alt(blocks), "memory_sum")
    result(machine, blocks, block_size, memory.num_cpu_blocks(machine, block_size, swap), swap)


def result(machine: Machine, blocks: memory.KvBlocks, size: int, cpu_blocks: int,
           swap: float) -> None:
    """The division, and a button that takes it."""
    one = f"{machine.kv_bytes_per_token() / 1024:,.0f} KiB × {size} tokens"
    if blocks.fits:
        longest = 2048
        text, button = st.columns([3, 1], vertical_alignment="center")
        text.markdown(
            f"{numbers.size(blocks.kv_bytes)} ÷ ({one}) = **{blocks.num_gpu_blocks:,} GPU blocks**"
            f" = {blocks.num_gpu_blocks * size:,} tokens, or"
            f" {blocks.num_gpu_blocks * size / longest:,.1f} requests of {longest:,} tokens."
            f" {swap:g} GiB ÷ ({one}) = **{cpu_blocks:,} CPU blocks**.")
        button.button("Use them for the run", on_click=take, width="stretch",
                      args=(blocks.num_gpu_blocks, cpu_blocks, size),
                      help="Sets GPU blocks, CPU blocks and block size in the sidebar.")
    else:
        missing = -sum(line.num_bytes for line in blocks.lines)
        st.error(f"{machine.model} does not fit on {machine.tensor_parallel} × {machine.gpu}:"
                 f" {numbers.size(missing)} are missing on each. Take more GPUs in parallel, or"
                 " a larger one.")
    with st.expander("The sum as a table, and how good it is"):
        numbers.table(("", "GiB of each GPU", "bytes of each GPU"), [
            (NAMES[row.key], f"{row.gib:,.3f}", f"{row.gib * memory.GIB:,.0f}")
            for row in stairs(blocks)])
        st.markdown(
            "With CUDA and graphs at 660 MiB, a fitted figure, Llama-3.1-8B on an RTX 4090 gets"
            " the 2,588 blocks that a measured vLLM 0.19 run reports (LLMServingSim). Elsewhere"
            " expect to be off by a few percent, on small GPUs by more.")


def take(gpu_blocks: int, cpu_blocks: int, block_size: int) -> None:
    """Set the sidebar's knobs."""
    st.session_state.update({
        f"{state.PREFIX}num_gpu_blocks": min(gpu_blocks, 1_000_000),
        f"{state.PREFIX}num_cpu_blocks": min(cpu_blocks, 1_000_000),
        f"{state.PREFIX}block_size": block_size})


def take_case() -> None:
    """Move the sliders to a ready distribution."""
    case = length_cases.CASES[st.session_state["memory_case"]]
    for key, lengths in (("prompt", case.prompt), ("output", case.output)):
        st.session_state[f"memory_{key}"] = lengths.typical
        st.session_state[f"memory_{key}_spread"] = lengths.spread


def choose_contents() -> Contents:
    """The distribution of the lengths, and what else the contents depend on."""
    st.session_state.setdefault("memory_case", "chat")
    if "memory_prompt" not in st.session_state:
        take_case()
    first, second, third, fourth = st.columns(4)
    first.selectbox("Lengths", list(length_cases.CASES), key="memory_case",
                    format_func=length_cases.title, on_change=take_case, persist_state="session")
    longest = first.select_slider(
        "Longest sequence", [512, 1024, 2048, 4096], 2048, key="memory_longest",
        help="`max_model_len`: prompt and output. Older systems reserve as much for everybody.",
        persist_state="session")
    typical, spread = {}, {}
    for key, column in (("prompt", second), ("output", third)):
        typical[key] = column.slider(
            f"{key.title()}, median tokens", 8, 1_000, key=f"memory_{key}",
            persist_state="session")
        spread[key] = column.slider(
            f"{key.title()}, spread", 0.0, 2.0, step=0.05, key=f"memory_{key}_spread",
            help="Standard deviation of the logarithm: 0 gives everybody the same length.",
            persist_state="session")
    size = fourth.select_slider("Block size", BLOCK_SIZES, 16, key="memory_size",
                                help="Tokens per block.", persist_state="session")
    seed = fourth.number_input("Seed", 1, 9_999, 1, key="memory_seed", persist_state="session")
    lengths = {key: Lengths(typical=typical[key], spread=spread[key], high=longest // 2)
               for key in typical}
    return Contents(lengths["prompt"], lengths["output"], longest, size, int(seed))


def contents_part() -> None:
    """Reserved, used and wasted under each scheduler."""
    held = held_by_each(choose_contents())
    contrasts = [each.contrast for each in held.values()]
    over_time = {name: each.over_time for name, each in held.items()}
    numbers.chart(plot_memory_shares(contrasts, height=310), memory_shares_alt(contrasts),
                  "memory_shares")
    numbers.chart(plot_memory_over_time(over_time, "s"), memory_over_time_alt(over_time, "s"),
                  "memory_over_time")
    with st.expander("The charts as tables"):
        numbers.table(
            ("scheduler", *(look.name for look in MEMORY_LOOKS.values()), "held empty",
             "time with a queue, s"),
            [(scheduler_name(c.scheduler), *(f"{c.shares[kind]:.1%}" for kind in MEMORY_LOOKS),
              f"{c.waste:.1%}", f"{c.loaded_s:,.0f}") for c in contrasts])
        st.dataframe(over_time_table(over_time), hide_index=True, height=220)
    machine, count = ClaimWorkload().machine, held["vllm_v1"].num_requests
    st.markdown(
        f"{count} requests, the same for all, come at once to {machine.model} on an {machine.gpu}."
        " The vLLM paper (section 1, figure 2) found 20.4 % of the memory to hold tokens with Orca"
        " (Max) and 38.2 % with Orca (Oracle); vLLM's authors say that paging wastes less than 4 %"
        " of what is held. *held for nothing* is internal fragmentation, *free, unusable* is"
        " external fragmentation and what is too little for the next in line. Choose lengths *all"
        " near the longest* and the contrast shrinks; choose blocks of 256, or *short* requests of"
        " a few blocks each, and paging wastes more than 4 % too: half a block of every request.")


def over_time_table(uses: dict[str, UseOverTime]) -> pd.DataFrame:
    """The areas: shares by scheduler and time."""
    return pd.concat([pd.DataFrame({
        "scheduler": scheduler_name(name),
        "until, s": (np.arange(len(use.shares["used"])) + 1) * use.length
        / max(len(use.shares["used"]), 1),
        **{look.name: use.shares[kind] for kind, look in MEMORY_LOOKS.items()}})
        for name, use in uses.items()]).round(3)


st.markdown("#### The KV memory\nOlder systems keep a place for every token that might come;"
            " paging gives out blocks as tokens come. Independent of the sidebar.")
part = st.segmented_control("Part", [CONTENTS, SUM], default=CONTENTS, required=True,
                            key="memory_part", label_visibility="collapsed",
                            persist_state="session")
if part == SUM:
    sum_part()
else:
    contents_part()

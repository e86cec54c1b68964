"""The shared sidebar: preset, scheduler, and the knobs that this scheduler has."""

from __future__ import annotations

import inspect

import streamlit as st

from core import memory
from core.presets import Preset, groups
from core.schedulers import schedulers
from pages.ui import knobs, state

MORE, CLOCK = "sidebar_more", "sidebar_clock"
"""Keys of the two boxes that open on demand."""


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
        scheduler = schedulers()[st.session_state["scheduler"]]
        st.caption(f"Follows {scheduler.models}. Checked: {scheduler.evidence}.")
        main = [name for name in knobs.MAIN if name in scheduler.knobs]
        for name in main:
            knobs.show(name, state.PREFIX + name)
        more = _more([name for name in scheduler.knobs if name not in knobs.MAIN])
        state.keep_all_but({state.PREFIX + name for name in [*main, *more]} | _machine())
        if st.button("Back to the preset", width="stretch", on_click=state.use_preset):
            st.toast("All knobs are the preset's again.")


def _more(names: list[str]) -> list[str]:
    """The rarer knobs, drawn when they are wanted: controls cost time at every change. Gives those
    that were drawn."""
    with st.expander("More knobs", key=MORE, on_change="rerun") as box:
        if not box.open:
            return []
        for name in names:
            knobs.show(name, state.PREFIX + name)
    return names


def _machine() -> set[str]:
    """The clock, and the machine that it runs on. Gives the keys of the controls drawn."""
    with st.expander("Clock and machine", key=CLOCK, on_change="rerun") as box:
        if not box.open:
            return set()
        st.segmented_control("Time counts", ["step", "seconds"], key="clock", required=True,
                             format_func=lambda c: {"step": "steps", "seconds": "seconds"}[c],
                             help="Steps, or the seconds that a GPU would take for each step.")
        if st.session_state["clock"] == "step":
            return {"clock"}
        for name, choices in state.MACHINE.items():
            st.selectbox(MACHINE_LABELS[name], choices, key=f"machine_{name}")
        _memory()
    return {"clock", *(f"machine_{name}" for name in state.MACHINE)}


def _memory() -> None:
    """As many blocks as this machine has room for."""
    st.session_state.setdefault("utilization", 0.9)
    st.session_state.setdefault("swap_space", 4.0)
    share = st.slider("GPU memory utilization", 0.3, 1.0, step=0.01, key="utilization",
                      help="vLLM's name: `gpu_memory_utilization`.")
    swap = st.slider("Swap space, GiB", 0.0, 64.0, step=1.0, key="swap_space",
                     help="vLLM's name: `swap_space`, in V0.")
    machine, size = state.machine(), st.session_state[f"{state.PREFIX}block_size"]
    blocks = memory.num_gpu_blocks(
        machine, size, gpu_memory_utilization=share,
        max_num_batched_tokens=st.session_state[f"{state.PREFIX}max_num_batched_tokens"],
        max_num_seqs=st.session_state[f"{state.PREFIX}max_num_seqs"])
    cpu_blocks = memory.num_cpu_blocks(machine, size, swap)
    if not blocks.fits:
        st.warning(f"{machine.model} does not fit on {machine.tensor_parallel} × {machine.gpu}.")
        return
    st.caption(f"Room for {blocks.num_gpu_blocks:,} GPU blocks and {cpu_blocks:,} CPU blocks of "
               f"{size} tokens.")

    def use() -> None:
        st.session_state[f"{state.PREFIX}num_gpu_blocks"] = min(blocks.num_gpu_blocks, 1_000_000)
        st.session_state[f"{state.PREFIX}num_cpu_blocks"] = min(cpu_blocks, 1_000_000)

    st.button("Use these block counts", on_click=use, width="stretch")


MACHINE_LABELS = {"gpu": "GPU", "model": "Model", "tensor_parallel": "GPUs in parallel"}
SHORT = {"vLLM V0": "V0 · ", "vLLM V1": "V1 · ", "V0 beside V1": "V0 | V1 · "}


def preset_title(preset: Preset) -> str:
    """The preset's title with the engine that it is about in front."""
    return SHORT.get(preset.group, "") + preset.title


def title(name: str) -> str:
    """What a scheduler is called: its title, or the first line of its docstring."""
    scheduler = schedulers()[name]
    return scheduler.title or (inspect.getdoc(scheduler) or name).splitlines()[0].rstrip(".")

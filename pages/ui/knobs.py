"""How each knob of the engine is shown: its label, its help, and the values it offers."""

from __future__ import annotations

from typing import Any, NamedTuple

import streamlit as st


def octaves(low: int, high: int) -> list[int]:
    """Whole numbers from ``low`` to ``high``: all up to 16, then 8 per doubling."""
    values = list(range(low, min(high, 16) + 1))
    start = 16
    while start < high:
        values += [start + start // 8 * k for k in range(1, 9)]
        start *= 2
    return [n for n in values if low <= n <= high]


class Knob(NamedTuple):
    """One control. ``values`` are the choices; None means a switch (on or off)."""

    label: str
    text: str
    """What it does, with its unit."""
    values: tuple[Any, ...] | None


def _counts(label: str, text: str, low: int, high: int) -> Knob:
    return Knob(label, text, tuple(octaves(low, high)))


KNOBS: dict[str, Knob] = {
    "max_num_batched_tokens": _counts(
        "Token budget", "Most tokens that one step may compute.", 1, 16_384),
    "max_num_seqs": _counts(
        "Sequence budget", "Most requests that may run at once.", 1, 1_024),
    "num_gpu_blocks": _counts(
        "GPU blocks", "Physical KV blocks on the GPU.", 1, 16_384),
    "num_cpu_blocks": _counts(
        "CPU blocks", "Blocks of swap space in the host's memory.", 0, 16_384),
    "block_size": Knob(
        "Block size", "Tokens per block.", (1, 2, 4, 8, 16, 32, 64, 128)),
    "preemption_mode": Knob(
        "Swap strategy", "What happens to the blocks of a request that has to go: moved to the"
        " CPU, or dropped and computed again. The engine's own choice is recompute (the article's:"
        " swap).", ("auto", "swap", "recompute")),
    "policy": Knob(
        "Queue order", "In which order waiting requests are looked at.",
        ("fcfs", "priority", "length")),
    "max_model_len": _counts(
        "Longest sequence", "In tokens. The article holds the prompt alone against it.",
        8, 131_072),
    "enable_chunked_prefill": Knob(
        "Chunked prefill", "A long prompt is computed in pieces, together with next tokens.",
        None),
    "enable_prefix_caching": Knob(
        "Prefix caching", "Blocks with the same beginning are shared and kept.", None),
    "watermark": Knob(
        "Watermark", "Share of the GPU blocks that must stay free when a request is let in.",
        (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)),
    "delay_factor": Knob(
        "Delay factor", "Wait this many times the last prompt's step before letting in more.",
        (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)),
    "long_prefill_token_threshold": _counts(
        "Long prefill threshold", "Most tokens of one prompt in a step; 0 is no limit.",
        0, 16_384),
    "long_prefill_token_threshold_adaptive": Knob(
        "Adaptive threshold", "Raise the threshold while few requests are there.", None),
    "max_num_scheduled_tokens": Knob(
        "Scheduler's token budget", "A second, smaller token budget.",
        ("auto", *octaves(1, 16_384))),
    "max_num_active_seqs": Knob(
        "Active sequences", "Seats, if not the sequence budget.", ("auto", *octaves(1, 1_024))),
    "scheduler_reserve_full_isl": Knob(
        "Room for the whole prompt", "Let a request in only if blocks for all its tokens are"
        " free.", None),
    "prefill_schedule_interval": _counts(
        "Prefill interval", "Compute prompts only every so many steps.", 1, 64),
    "batch_group_size": _counts(
        "Group size", "With queue order length: requests let in together.", 1, 64),
    "compress_swapped": Knob(
        "Compress swapped requests", "Squeeze what lies in the CPU blocks.", None),
    "compression_ratio": Knob(
        "Compression ratio", "Blocks before over blocks after.",
        (1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0)),
    "compression_min_blocks": _counts(
        "Compress above", "Only requests that hold more blocks than this.", 0, 256),
    "bypass_config_checks": Knob(
        "Skip the start-up check", "Run with knobs that the real engine would refuse at its"
        " start.", None),
}

MAIN = ("max_num_batched_tokens", "max_num_seqs", "num_gpu_blocks", "num_cpu_blocks", "block_size",
        "preemption_mode")
"""Always in view, if the scheduler has them; the others are under "More"."""

NOT_VLLMS = {"batch_group_size", "compress_swapped", "compression_ratio",
             "compression_min_blocks", "bypass_config_checks"}
"""The article's own knobs, and one of ours; all others have vLLM's names."""

NAMES = {
    "auto": "auto", "swap": "swap", "recompute": "recompute", "fcfs": "first come",
    "priority": "priority", "length": "shortest prompt",
}


def show(name: str, key: str) -> None:
    """Draw the control of a knob; its value lives in the session under ``key``."""
    knob = KNOBS[name]
    whose = "Its name in links and files" if name in NOT_VLLMS else "vLLM's name"
    text = f"{knob.text} {whose}: `{name}`."
    current = st.session_state[key]
    if knob.values is None:
        st.toggle(knob.label, key=key, help=text)
    elif set(knob.values) <= set(NAMES):
        of_article = st.session_state["scheduler"].startswith("article")
        options = [v for v in knob.values if v != "length" or of_article or current == "length"]
        st.segmented_control(knob.label, options, key=key, help=text, required=True,
                             format_func=lambda value: NAMES[value], width="stretch")
    else:
        options = list(knob.values)
        if current not in options:
            options = sorted([*options, current], key=lambda v: (v != "auto", v))
        st.select_slider(knob.label, options, key=key, help=text,
                         format_func=lambda value: value if value == "auto" else f"{value:,}")

"""The colours of all figures, in one place. States are never told by colour alone."""

from __future__ import annotations

from typing import NamedTuple

from core.trace import State


class Look(NamedTuple):
    """How a state looks: its name, letter, colour and, as a second cue, a hatch."""

    name: str
    letter: str
    color: str
    hatch: str


LOOKS: dict[str, Look] = {
    "waiting": Look("waiting", "W", "#B9BFC8", ""),
    "preempted": Look("waiting again", "R", "#D55E00", "x"),
    "prefill": Look("prefill", "P", "#009E73", ""),
    "decode": Look("decode", "D", "#0072B2", ""),
    "swapped": Look("swapped", "S", "#CC79A7", "/"),
    "ignored": Look("ignored", "I", "#4C4C4C", "."),
    "aborted": Look("aborted", "A", "#4C4C4C", "\\"),
}
"""Green, blue, vermillion and purple are Okabe and Ito's and pass 3 : 1 on white and on dark."""

ALARM = "#c23b00"
"""A run that did not finish; white text on it has 5 : 1."""

OWNERS = (
    "#306dd4", "#e28900", "#844200", "#a1afd7", "#ffc65a", "#9e7386", "#555075", "#d25422",
    "#2694f3", "#c1d0f9", "#4ef2aa", "#bd987b", "#005aa8", "#9a82c5", "#825849", "#ffa777",
    "#93cdc9", "#7267a9", "#609056", "#00bca4", "#e29fff", "#00d2a0", "#991451", "#b38281",
    "#995a85", "#2e8811", "#aa92d6", "#1791a2", "#b6b83f", "#6d398e", "#e6604e", "#d5d789",
    "#75528e", "#c294ff", "#c86cab", "#a4deda", "#b06edd", "#945100", "#83b14d", "#b8bde7",
)
"""One colour per request in the block grid, chosen so that they stay apart for normal, protan,
deutan and tritan eyes; the first twelve are the farthest apart. From the 41st request on they
repeat, and hovering tells them apart."""


class Line(NamedTuple):
    """How a curve or a bar of a comparison looks: its name, colour and, as second cues, the dash
    of its line and the symbol of its points."""

    name: str
    color: str
    dash: str
    symbol: str


SCHEDULER_LINES: dict[str, Line] = {
    "static_batching": Line("static batching", "#69695A", "dot", "x"),
    "orca_max": Line("Orca (Max)", "#D20F0F", "dash", "square"),
    "orca_pow2": Line("Orca (Pow2)", "#E1784B", "dashdot", "triangle-up"),
    "orca_oracle": Line("Orca (Oracle)", "#A587B4", "longdash", "diamond"),
    "vllm_v0": Line("vLLM V0", "#B42DA5", "solid", "cross"),
    "vllm_v1": Line("vLLM V1", "#2D78E1", "solid", "circle"),
}
"""The schedulers that are compared; their short names are those of the papers. Chosen so that
they stay apart for normal, protan, deutan and tritan eyes and pass 3 : 1 on white and on dark."""

WAY_LINES: dict[str, Line] = {
    "swap": Line("swap", "#CC79A7", "solid", "square"),
    "compressed_swap": Line("compressed swap", "#9A6FC4", "dash", "diamond"),
    "recompute": Line("recompute", "#D55E00", "solid", "x"),
}
"""What a preemption does: the colours are those of the states it leads to."""

SIDE_LINES: dict[str, Line] = {
    "measured": Line("measured", "#8A8F98", "solid", "circle"),
    "simulated": Line("simulated", "#2B8CD0", "dash", "diamond"),
}
"""A real server and this model."""

MEMORY_LOOKS: dict[str, Look] = {
    "used": Look("holds a token", "T", "#2B8CD0", ""),
    "reserved": Look("for later tokens", "L", "#E69F00", "/"),
    "internal": Look("held for nothing", "N", "#D55E00", "x"),
    "unusable": Look("free, unusable", "U", "#CC79A7", "."),
    "free": Look("free", "F", "#B9BFC8", ""),
}
"""Kinds of slots of the KV memory, see core/memory_use.py."""

GIVEN, TAKEN, LEFT = "#B9BFC8", "#D55E00", "#2B8CD0"
"""A sum: what there is, what goes off, what is left."""

MARK = "#8A8F98"
"""Limits, diagonals and other lines to hold something against; 3 : 1 on white and on dark."""
BAND = "rgba(138,143,152,.22)"
"""The same as an area."""
HATCH = "rgba(255,255,255,.6)"
"""Drawn over a colour as its second cue."""


def look_of(state: State, attempt: int) -> str:
    """The key in LOOKS for a stay; a wait after a preemption looks different from the first."""
    if state is State.WAITING and attempt > 0:
        return "preempted"
    return state.value


def owner_color(index: int) -> str:
    """The colour of the request at this position of the scenario's list."""
    return OWNERS[index % len(OWNERS)]


def scheduler_name(name: str) -> str:
    """The short name of a scheduler; its file's where it is not among those that are compared."""
    return SCHEDULER_LINES[name].name if name in SCHEDULER_LINES else name

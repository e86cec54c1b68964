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


def look_of(state: State, attempt: int) -> str:
    """The key in LOOKS for a stay; a wait after a preemption looks different from the first."""
    if state is State.WAITING and attempt > 0:
        return "preempted"
    return state.value


def owner_color(index: int) -> str:
    """The colour of the request at this position of the scenario's list."""
    return OWNERS[index % len(OWNERS)]

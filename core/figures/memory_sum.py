"""From a GPU's memory to the part that is left for KV blocks: the sum as a staircase."""

from __future__ import annotations

from typing import NamedTuple

import plotly.graph_objects as go

from core.figures.parts import fill, layout
from core.figures.theme import GIVEN, LEFT, TAKEN
from core.memory import GIB, KvBlocks

NAMES = {
    "gpu_memory": "memory of a GPU", "not_used": "left alone", "weights": "weights",
    "activations": "activations", "logits": "logits", "runtime": "CUDA, graphs",
    "kv": "KV blocks",
}
"""Of the lines of the sum, and of what is left."""


class Stair(NamedTuple):
    """One line of the sum, in GiB per GPU."""

    key: str
    from_gib: float
    """Where its bar begins: at what the lines before have left."""
    to_gib: float
    """Where it ends: at what is left with it."""

    @property
    def gib(self) -> float:
        """What it adds; negative if it takes away."""
        return self.to_gib - self.from_gib


def stairs(blocks: KvBlocks) -> list[Stair]:
    """The lines, each beginning where the one before has ended, and what is left: from 0."""
    found, at = [], 0
    for line in blocks.lines:
        found.append(Stair(line.key, at / GIB, (at + line.num_bytes) / GIB))
        at += line.num_bytes
    return [*found, Stair("kv", 0.0, at / GIB)]


def plot_memory_sum(blocks: KvBlocks, *, height: int = 290) -> go.Figure:
    """A bar for each line, from above down; what is left last, from 0 on."""
    rows = stairs(blocks)
    names = [NAMES[row.key] for row in rows]
    figure = go.Figure(layout=layout(
        height, showlegend=False, margin={"l": 112, "r": 12, "t": 6, "b": 40},
        xaxis={"title": {"text": "GiB of each GPU"}, "zeroline": True,
               "range": [min(0.0, 1.15 * rows[-1].to_gib), 1.16 * rows[0].to_gib]},
        yaxis={"autorange": "reversed", "categoryorder": "array", "categoryarray": names}))
    left = ("left", LEFT, "") if blocks.fits else ("missing", TAKEN, "x")
    for sort, color, hatch, kept in (
            ("there is", GIVEN, "", rows[:1]), ("goes off", TAKEN, "/", rows[1:-1]),
            (*left, rows[-1:])):
        figure.add_trace(go.Bar(
            orientation="h", name=sort, marker=fill(color, hatch), width=0.72,
            y=[NAMES[row.key] for row in kept], base=[row.from_gib for row in kept],
            x=[row.gib for row in kept], hoverinfo="skip"))
    figure.add_trace(go.Scatter(  # beside the bars, for small ones have no room within
        mode="text", y=names, x=[max(row.from_gib, row.to_gib) for row in rows],
        text=[f" {row.gib:.2f}".replace("-", "−") for row in rows],
        textposition="middle right", hoverinfo="skip", cliponaxis=False))
    return figure


def memory_sum_alt(blocks: KvBlocks) -> str:
    """The sum in words."""
    lines = ", ".join(f"{NAMES[row.key]} {row.gib:+.2f} GiB" for row in stairs(blocks)[:-1])
    return (f"The memory of a GPU line by line: {lines}. {stairs(blocks)[-1].to_gib:.2f} GiB are"
            f" left: {blocks.num_gpu_blocks:,} KV blocks.")

"""The two files of a ServeGen client, read into windows and distributions."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.faults import Fault
from core.workloads.options import Options
from core.workloads.records import Record, WorkloadError, collect
from core.workloads.texts import json_value, text_of

PROMPT_FIELDS = ("input_tokens", "text_tokens", "image_tokens", "audio_tokens", "video_tokens")
HEADER = ["start", "rate", "cv", "family", "parameter 1", "parameter 2"]
MAX_DISTRIBUTION_CHARS = 4_000_000
WINDOW_S = 600.0
_DICT = re.compile(r"\{[\d.,:\seE+-]*\}")


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time with one arrival process."""

    start_s: float
    rate: float
    """Requests per second."""
    family: str
    """Gamma, Weibull, or empty."""
    shape: float
    """The family's shape parameter."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Token counts and how likely they are, ready to be drawn from."""

    values: NDArray[np.int64]
    cumulative: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Client:
    """What a client's requests are drawn from."""

    windows: tuple[Window, ...]
    window_s: float
    lengths: dict[float, tuple[tuple[Distribution, ...], Distribution]]
    """By the start of a stretch (s): the parts of the prompt, and the output."""

    def lengths_at(self, start_s: float) -> tuple[tuple[Distribution, ...], Distribution]:
        """The last distributions before this time, or the first ones there are."""
        before = [start for start in self.lengths if start <= start_s]
        return self.lengths[max(before) if before else min(self.lengths)]


def read_client(trace: bytes, dataset: bytes) -> Client:
    """A client of its two files.

    Raises:
        WorkloadError: with the places of the first faults.
    """
    windows, _ = collect(_windows(trace), _window, Options())
    steps = [b.start_s - a.start_s for a, b in pairwise(windows)]
    lengths = _lengths(json_value(dataset))
    return Client(tuple(windows), min(steps, default=WINDOW_S), lengths)


def _windows(trace: bytes) -> Any:
    rows = csv.reader(io.StringIO(text_of(trace), newline=""))
    for number, cells in enumerate(filter(None, rows), start=1):
        if len(cells) != len(HEADER):
            rule = f"must have {len(HEADER)} cells: {', '.join(HEADER)}"
            raise WorkloadError([Fault(f"line {rows.line_num}", ",".join(cells), rule)])
        yield Record(number, rows.line_num, dict(zip(HEADER, cells, strict=True)), HEADER)


def _window(row: Record) -> Window:
    rate = row.decimal("rate", most=1e6)
    family = row.text("family") or ""
    if family not in ("", "Gamma", "Weibull"):
        raise row.wrong("family", "must be Gamma, Weibull or empty")
    least = 1e-3 if rate and family else 0.0
    return Window(row.decimal("start"), rate, family, row.decimal("parameter 1", least))


def _lengths(document: Any) -> dict[float, tuple[tuple[Distribution, ...], Distribution]]:
    found = {}
    for start, fields in document.items():
        at = f"{start}.output_tokens"
        if not start.isdigit() or not isinstance(fields, dict):
            raise WorkloadError([Fault(start, fields, "must be seconds and an object of fields")])
        output = _distribution(at, fields.get("output_tokens"))
        named = [name for name in PROMPT_FIELDS if name in fields]
        prompt = [_distribution(f"{start}.{name}", fields[name]) for name in named]
        parts = tuple(part for part in prompt if part is not None)
        if output is not None and parts:
            found[float(start)] = (parts, output)
    if not found:
        raise WorkloadError([Fault("dataset", "empty", "at least one stretch of time must have"
                                   " tokens of prompts and outputs")])
    return found


def _distribution(field: str, text: Any) -> Distribution | None:
    """A dict written as Python writes it, {tokens: probability}; None if it is empty.

    Only digits, signs and separators get past the check, and they are split, not evaluated.
    """
    rule = "must be a text such as {12: 0.5, 13: 0.5}"
    fits = isinstance(text, str) and len(text) <= MAX_DISTRIBUTION_CHARS
    if not fits or not _DICT.fullmatch(text):
        raise WorkloadError([Fault(field, text, rule)])
    inside = text[1:-1].strip()
    if not inside:
        return None
    try:
        pairs = [entry.split(":") for entry in inside.split(",") if entry.strip()]
        values = np.array([int(float(tokens)) for tokens, _ in pairs])
        weights = np.array([float(weight) for _, weight in pairs])
    except ValueError:
        raise WorkloadError([Fault(field, text, rule)]) from None
    if (weights < 0).any() or not 0 < weights.sum() < np.inf or (values < 0).any():
        rule = "must have finite numbers, none negative, and probabilities above 0"
        raise WorkloadError([Fault(field, text, rule)])
    cumulative = np.cumsum(weights) / weights.sum()
    cumulative[-1] = 1.0
    return Distribution(values, cumulative)

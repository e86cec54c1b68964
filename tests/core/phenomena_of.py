"""Short ways to the phenomena of a run."""

from __future__ import annotations

from typing import Any

from core import Trace
from core.phenomena import DETECTORS, Phenomenon
from core.phenomena.phenomenon import Evidence
from tests.core.every_run import every_run


def case(name: str) -> Trace:
    """The run of a case by its number and variant, such as ``11:base``."""
    number, _, variant = name.partition(":")
    (trace,) = [trace for each, trace in every_run("cases").items()
                if each.startswith(f"{number}-") and each.endswith(f":{variant}")]
    return trace


def preset(number: str) -> Trace:
    """The run of a preset by its number."""
    (trace,) = [trace for each, trace in every_run("presets").items()
                if each.startswith(f"{number}_") and not each.endswith(":versus")]
    return trace


def occurrences(trace: Trace, key: str) -> list[Phenomenon]:
    """All occurrences of one phenomenon in a run."""
    return DETECTORS[key](Evidence(trace))


def the_one(trace: Trace, key: str) -> dict[str, Any]:
    """What is known of the only occurrence."""
    (found,) = occurrences(trace, key)
    return {"variant": found.variant, **found.numbers}

"""The marks under the theatre: what the run shows, and the invariants that it keeps."""

from __future__ import annotations

from typing import Any

from core.invariants import Finding, Verdict, examine
from core.invariants.reruns import RERUNS, beginning
from core.phenomena import phenomena as core_phenomena
from core.trace import Trace

SIGNS = {Verdict.HELD: "✓", Verdict.BROKEN: "✗", Verdict.EXEMPT: "!", Verdict.NOT_APPLICABLE: "–"}

SERVED_AGAIN = 4_000
"""So many requests, added up over the steps, are served again in a tenth of a second."""


def phenomena(trace: Trace) -> list[dict[str, Any]]:
    """What the run shows, one entry per kind with the places at which it does."""
    kinds: dict[str, dict[str, Any]] = {}
    for found in core_phenomena(trace):
        kind = kinds.setdefault(found.key, {"name": found.name(), "meaning": found.meaning(),
                                            "places": []})
        request = -1 if found.request is None else found.request
        kind["places"].append({"step": found.step, "request": request, "here": found.here()})
    return list(kinds.values())


def within(kinds: list[dict[str, Any]], first: int, part: Trace) -> list[dict[str, Any]]:
    """The places that lie in a window, in its own steps; which request it is about is not told."""
    kept = []
    for kind in kinds:
        places = [{**place, "step": place["step"] - first, "request": -1}
                  for place in kind["places"] if 0 <= place["step"] - first < part.num_steps]
        if places:
            kept.append({**kind, "places": places})
    return kept


def invariants(trace: Trace) -> list[dict[str, object]]:
    """Each invariant with its mark and what a click on it says.

    Two of them are seen only by running the scenario again; of a long run, its first steps.
    """
    part = beginning(trace, SERVED_AGAIN)
    kept = " This run keeps it."
    again = kept if part is trace else (
        f" Its first {part.num_steps:,} steps were run again, and keep it.")
    return [*(_mark(finding, kept) for finding in examine(trace)),
            *(_mark(invariant.examine(part), again) for invariant in RERUNS)]


def _mark(finding: Finding, kept: str) -> dict[str, object]:
    where = "" if finding.step is None else f" in step {finding.step}"
    details = ", ".join(f"{k} {v}" for k, v in finding.detail.items())
    text = finding.meaning + {
        Verdict.HELD: kept,
        Verdict.NOT_APPLICABLE: " Nothing in this run touches it.",
        Verdict.BROKEN: f" This run breaks it{where} ({details}): a bug, please report it.",
        Verdict.EXEMPT: f" This run does not keep it{where} ({details}), and the modelled "
                        f"algorithm is known for it: {finding.reason}.",
    }[finding.verdict]
    return {"number": finding.number, "name": finding.name.replace("_", " "),
            "state": finding.verdict.value, "mark": SIGNS[finding.verdict], "text": text}

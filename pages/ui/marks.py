"""The quiet marks under the theatre: the numbered invariants, checked on the run on screen."""

from __future__ import annotations

from core.invariants import Finding, Verdict, examine
from core.trace import Trace

SIGNS = {Verdict.HELD: "✓", Verdict.BROKEN: "✗", Verdict.EXEMPT: "!", Verdict.NOT_APPLICABLE: "–"}


def invariants(trace: Trace) -> list[dict[str, object]]:
    """Each invariant with its mark and what a click on it says."""
    return [{"number": f.number, "name": f.name.replace("_", " "), "state": f.verdict.value,
             "mark": SIGNS[f.verdict], "text": _text(f)} for f in examine(trace)]


def _text(finding: Finding) -> str:
    where = "" if finding.step is None else f" in step {finding.step}"
    details = ", ".join(f"{k} {v}" for k, v in finding.detail.items())
    return finding.meaning + {
        Verdict.HELD: " This run keeps it.",
        Verdict.NOT_APPLICABLE: " Nothing in this run touches it.",
        Verdict.BROKEN: f" This run breaks it{where} ({details}): a bug, please report it.",
        Verdict.EXEMPT: f" This run does not keep it{where} ({details}), and the modelled "
                        f"algorithm is known for it: {finding.reason}.",
    }[finding.verdict]

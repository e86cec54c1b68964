"""The ready scenarios in presets/: a lesson, what to look for, and a claim that is checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.scenario import Scenario
from core.trace import Kind, State, Trace

FOLDER = Path(__file__).parent.parent / "presets"


@dataclass(frozen=True)
class Preset:
    """A scenario that teaches one thing."""

    name: str
    """The file's name without its ending."""
    title: str
    lesson: str
    """One sentence: what it teaches."""
    look_for: str
    """One sentence: what to watch."""
    scenario: Scenario
    group: str = ""
    """Heading under which it is listed."""
    versus: dict[str, Any] | None = None
    """What it is compared with: another scheduler and the knobs that differ."""
    expect: dict[str, Any] = field(default_factory=dict)
    """Claims about the run, see ``broken_claims``."""


    def other(self) -> Scenario | None:
        """The scenario that it is compared with, if any."""
        if self.versus is None:
            return None
        other = self.scenario.with_knobs(**self.versus.get("config", {}))
        return other.model_copy(update={"scheduler": self.versus["scheduler"]})


def load_preset(path: Path) -> Preset:
    """One preset file.

    Raises:
        ScenarioError: if its scenario is not valid.
    """
    data = json.loads(path.read_text("utf-8"))
    scenario = Scenario.parse(data.pop("scenario"))
    return Preset(name=path.stem, scenario=scenario, **data)


def load_presets(*folders: Path) -> dict[str, Preset]:
    """All presets by name, in the order of their file names; by default those of presets/."""
    paths = [path for folder in folders or (FOLDER,) for path in sorted(folder.glob("*.json"))]
    return {path.stem: load_preset(path) for path in paths}


def broken_claims(trace: Trace, expect: dict[str, Any]) -> list[str]:
    """The claims that do not hold for a run, in words; empty if all do.

    A claim is a number of ``totals`` with a comparison (``"num_swaps": ">= 1"``), an exact value
    (``"outcome": "finished"``), a member (``"limits": {"has": "watermark"}``), or the queues after
    a step (``"after_step_0": {"running": ["1", "2"]}``).
    """
    found = totals(trace)
    broken = []
    for key, wanted in expect.items():
        if key.startswith("after_step_"):
            actual: Any = queues_after(trace, int(key.removeprefix("after_step_")))
            actual = {queue: actual[queue] for queue in wanted}
        else:
            actual = found[key]
        if not _holds(actual, wanted):
            broken.append(f"{key} should be {wanted}, but is {actual}")
    return broken


def totals(trace: Trace) -> dict[str, Any]:
    """The numbers that claims are about."""
    rows, steps = trace.request_rows, trace.step_rows
    limits = {e.cause.limit.value for e in trace.event_rows if e.cause is not None}
    return {
        "outcome": trace.end.outcome.value,
        "num_steps": trace.num_steps,
        "num_finished": sum(row.state is State.FINISHED for row in rows),
        "num_ignored": sum(row.state is State.IGNORED for row in rows),
        "num_preemptions": sum(row.num_preemptions for row in rows),
        "num_swaps": sum(row.num_swaps for row in rows),
        "num_compressed": sum(e.kind is Kind.COMPRESSED for e in trace.event_rows),
        "num_output_tokens": sum(row.num_output_tokens for row in rows),
        "num_computed_tokens": sum(row.num_computed_tokens for row in rows),
        "num_cached_tokens": sum(row.num_cached_tokens for row in rows),
        "max_running": max((row.num_running for row in steps), default=0),
        "max_waiting": max((row.num_waiting for row in steps), default=0),
        "max_swapped": max((row.num_swapped for row in steps), default=0),
        "min_free_gpu_blocks": min((row.free_gpu_blocks for row in steps), default=0),
        "min_free_cpu_blocks": min((row.free_cpu_blocks for row in steps), default=0),
        "limits": sorted(limits),
        "finished_order": [trace.request_id(e.request) for e in trace.event_rows
                           if e.kind is Kind.FINISHED],
    }


def queues_after(trace: Trace, step: int) -> dict[str, list[str | None]]:
    """The queues when this step's decisions had been taken."""
    queues: dict[str, list[int]] = {name: [] for name in
                                    ("waiting", "running", "swapped", "scheduled")}
    for edit in trace.queue_edits:
        if edit.step <= step:
            queues[edit.queue][edit.position : edit.position + edit.removed] = edit.inserted
    return {name: [trace.request_id(i) for i in members] for name, members in queues.items()}


def _holds(actual: Any, wanted: Any) -> bool:
    if isinstance(wanted, str) and wanted[:2] in (">=", "<="):
        bound = float(wanted[2:])
        return bool(actual >= bound if wanted[0] == ">" else actual <= bound)
    if isinstance(wanted, dict) and set(wanted) == {"has"}:
        return wanted["has"] in actual
    return bool(actual == wanted)


def groups(presets: dict[str, Preset]) -> Iterator[tuple[str, list[Preset]]]:
    """The presets by heading, in order."""
    seen: dict[str, list[Preset]] = {}
    for preset in presets.values():
        seen.setdefault(preset.group, []).append(preset)
    yield from seen.items()

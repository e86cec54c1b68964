"""Replays recordings of the real engines and says where ours differs: ``python -m core replay``.

A file is the recordings' own format, JSON or gzipped JSON: ``{"engine": ..., "traces": [...]}``.
Whoever records an engine of their own in this form can hold it against the model.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core.faults import ScenarioError
from core.recorded import Difference, first_difference, recorded_trace, scenario_from_recorded
from core.simulator import simulate


class RecordingError(ValueError):
    """A file cannot be read, is not a recording, or holds a scenario that is refused."""


class Recording(NamedTuple):
    """The contents of one file."""

    engine: str
    """``v0`` or ``v1``."""
    traces: list[dict[str, Any]]


class Report(NamedTuple):
    """How a recording compares with ours."""

    num_traces: int
    num_identical: int
    num_steps: int
    """Recorded steps, those of scenarios that differ included."""
    scenario: str | None = None
    """The first scenario that differs, and where."""
    difference: Difference | None = None


def main(paths: Sequence[str | Path]) -> int:
    """Replay files and print one line for each, and one more for its first difference.

    Returns:
        0 if everything is identical, 1 if something differs, 2 if a file was refused.
    """
    worst = 0
    for path in paths:
        try:
            report = replay(read_recording(path))
        except RecordingError as error:
            print(f"{path}: refused: {error}")
            worst = 2
            continue
        print(f"{path}: {report.num_identical} of {report.num_traces} scenarios identical"
              f" ({report.num_steps} steps)")
        if report.difference:
            print(f"  {report.scenario}, {_told(report.difference)}")
            worst = max(worst, 1)
    return worst


def read_recording(path: str | Path) -> Recording:
    """Read one file.

    Raises:
        RecordingError: if it cannot be read or is not in the recordings' form.
    """
    try:
        raw = Path(path).read_bytes()
        data = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise RecordingError(str(error)) from None
    traces = data.get("traces") if isinstance(data, dict) else None
    if not isinstance(traces, list) or not traces:
        raise RecordingError('not a recording: no list "traces" with something in it')
    for place, trace in enumerate(traces):
        if fault := _fault_of(trace):
            raise RecordingError(f"trace {place}: {fault}")
    return Recording(_engine_of(data), traces)


def replay(recording: Recording) -> Report:
    """Run every scenario of a recording and compare all steps.

    Raises:
        RecordingError: if a scenario is refused.
    """
    first: tuple[str, Difference] | None = None
    identical = 0
    for theirs in recording.traces:
        scenario = theirs["scenario"]
        try:
            ours = simulate(scenario_from_recorded(scenario, recording.engine))
        except ScenarioError as error:
            faults = "; ".join(map(str, error.faults))
            raise RecordingError(f"scenario {scenario.get('name')}: {faults}") from None
        difference = first_difference(recorded_trace(ours), theirs)
        identical += difference is None
        if difference and first is None:
            first = str(scenario.get("name")), difference
    num_steps = sum(len(theirs["steps"]) for theirs in recording.traces)
    return Report(len(recording.traces), identical, num_steps, *(first or ()))


def _engine_of(data: dict[str, Any]) -> str:
    """v0 or v1, from the file's ``format`` ("v0-trace/1") or ``engine`` ("vllm ... V0")."""
    told, name = str(data.get("format", "")).lower(), str(data.get("engine", "")).lower()
    for engine in ("v0", "v1"):
        if told.startswith(f"{engine}-trace") or name.split()[-1:] == [engine]:
            return engine
    raise RecordingError(f'neither V0 nor V1: "engine" is {data.get("engine")!r} and "format" is'
                         f' {data.get("format")!r}')


def _fault_of(trace: Any) -> str | None:
    """What keeps a trace from being compared."""
    if not isinstance(trace, dict) or not isinstance(trace.get("scenario"), dict):
        return 'no "scenario"'
    for part, kind in (("config", dict), ("requests", list)):
        if not isinstance(trace["scenario"].get(part), kind):
            return f'no "{part}" in its scenario'
    steps = trace.get("steps")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        return 'no list "steps" of steps'
    return None


def _told(difference: Difference) -> str:
    step, field, ours, theirs = difference
    where = "at the end" if step is None else f"step {step}"
    return f"{where}, {field}: ours {_short(ours)}, theirs {_short(theirs)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:197] + "..."

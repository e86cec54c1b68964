"""Everything that a run, or its scenario, can be taken away as: by name, one function each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from core.export.csv import tables_zip
from core.export.perfetto import perfetto_json
from core.export.vllm_command import vllm_command
from core.export.vllm_flags import VERSIONS
from core.faults import Fault, ScenarioError
from core.recorded import ENGINES, recorded_trace
from core.scenario import Scenario
from core.trace import Trace

MAX_RECORDED_TABLES = 200_000
"""Block tables, one per running request and step, that a recording is written with."""


class TraceExport(NamedTuple):
    """A kind of file that a run is written to."""

    suffix: str
    mime: str
    make: Callable[[Trace], bytes]
    """Raises ScenarioError if the run cannot be written so."""


class ScenarioExport(NamedTuple):
    """A kind of file that a scenario is written to, without a run."""

    suffix: str
    mime: str
    make: Callable[[Scenario], bytes]


def scenario_json(scenario: Scenario) -> bytes:
    """The scenario alone: a bug report in one file. The same scenario gives the same run."""
    return scenario.to_json().encode() + b"\n"


def recorded_json(trace: Trace) -> bytes:
    """The run in the form of the recordings of the real engines, one trace in the file.

    Raises:
        ScenarioError: unless the scheduler is one of which there are recordings.
    """
    names = {f"vllm_{engine}": version for engine, version in ENGINES.items()}
    scheduler = trace.scenario.scheduler
    if scheduler not in names:
        rule = f"must be {' or '.join(names)} to be written as a recording"
        raise ScenarioError([Fault("scheduler", scheduler, rule)])
    faults = _not_recordable(trace)
    if faults:
        raise ScenarioError(faults)
    content = {"engine": names[scheduler], "traces": [recorded_trace(trace)]}
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"


def _not_recordable(trace: Trace) -> list[Fault]:
    """What the recordings' form has no place for: seconds, ids of blocks, very long runs."""
    scenario, size = trace.scenario, sum(row.num_running for row in trace.step_rows)
    faults = []
    if scenario.clock == "seconds" or scenario.arrives_in_seconds:
        faults.append(Fault("clock", "seconds", "a recording counts steps; choose that clock"))
    if any(request.prefix_hashes for request in scenario.requests):
        faults.append(Fault("prefix_hashes", "given", "a recording knows prefix_id only"))
    if size > MAX_RECORDED_TABLES:
        faults.append(Fault("run", size, f"a recording holds every block table of every step: at"
                                         f" most {MAX_RECORDED_TABLES:,} tables"))
    return faults


def commands_text(scenario: Scenario) -> bytes:
    """The ``vllm serve`` commands for all versions, the newest last."""
    return "\n".join(vllm_command(scenario, each).text for each in VERSIONS).encode()


TRACE_EXPORTS: Mapping[str, TraceExport] = MappingProxyType({
    "csv": TraceExport(".zip", "application/zip", tables_zip),
    "perfetto": TraceExport(".perfetto.json", "application/json", perfetto_json),
    "recorded": TraceExport(".recorded.json", "application/json", recorded_json),
})
SCENARIO_EXPORTS: Mapping[str, ScenarioExport] = MappingProxyType({
    "scenario": ScenarioExport(".json", "application/json", scenario_json),
    "command": ScenarioExport(".sh", "text/x-shellscript", commands_text),
})
"""The kinds of file, by the names that the command line gives them."""

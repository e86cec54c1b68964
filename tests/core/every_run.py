"""Every scenario that the project holds: the recordings, the cases and the presets."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from core import Scenario, Trace, simulate
from core.presets import load_presets
from core.recorded import scenario_from_recorded
from tests.core.case_digest import case_runs

GOLDEN = Path(__file__).parents[1] / "golden"
GROUPS = ("golden-v0", "golden-v1", "cases", "presets")


@cache
def every_run(group: str) -> dict[str, Trace]:
    """The runs of one of GROUPS, by the names of their scenarios."""
    return {name: simulate(scenario) for name, scenario in _scenarios(group)}


def _scenarios(group: str) -> Iterator[tuple[str, Scenario]]:
    if group == "presets":
        for name, preset in load_presets().items():
            yield name, preset.scenario
            if other := preset.other():
                yield f"{name}:versus", other
    elif group == "cases":
        for run in [*case_runs("v0"), *case_runs("v1")]:
            if run.expected["aborted"] != "config":  # refused before the first step
                yield run.name, scenario_from_recorded(run.scenario, run.engine)
    else:
        engine = group.removeprefix("golden-")
        for path in sorted((GOLDEN / engine).glob("*.json.gz")):
            for recorded in json.loads(gzip.decompress(path.read_bytes()))["traces"]:
                scenario = scenario_from_recorded(recorded["scenario"], engine)
                yield scenario.name, scenario

"""What the dashboard claims of the recordings is what lies in tests/golden."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from core.schedulers import schedulers

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("engine", ["v0", "v1"])
def test_evidence_names_the_number_of_recordings_and_steps(engine: str) -> None:
    traces = [trace for path in (GOLDEN / engine).glob("*.json.gz")
              for trace in json.loads(gzip.decompress(path.read_bytes()))["traces"]]
    steps = sum(len(trace["steps"]) for trace in traces)
    claim = f"{len(traces)} recorded workloads, {steps:,} steps"
    assert schedulers()[f"vllm_{engine}"].evidence.startswith(claim)
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    assert f"{len(traces)} " in readme and f"{steps:,} steps" in readme

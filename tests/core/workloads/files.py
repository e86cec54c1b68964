"""The input files of these tests, and short ways to read a workload."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.workloads import Options, Workload, WorkloadError, read

HERE = Path(__file__).resolve().parents[2] / "data" / "workloads"
SHARED = Path(__file__).resolve().parents[4] / "shared" / "workloads"
"""Real traces, too large for the project; they lie beside it or nowhere."""

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"the real traces are not there: {SHARED.parent.name}/workloads")

FORMAT_OF = {
    "azure_2023.csv": "azure",
    "azure_2024.csv": "azure",
    "azure_2025_images.csv": "azure",
    "bailian.jsonl": "bailian",
    "burstgpt_v1.csv": "burstgpt",
    "burstgpt_v2.csv": "burstgpt",
    "llmservingsim.jsonl": "llmservingsim",
    "llmservingsim_measured.jsonl": "llmservingsim",
    "mooncake.jsonl": "mooncake",
    "plain.csv": "plain_csv",
    "plain_seconds.csv": "plain_csv",
    "recorded.json": "scenario_json",
    "scenario.json": "scenario_json",
    "servegen_dataset.json": "servegen",
    "servegen_multimodal_dataset.json": "servegen",
    "servegen_offline.jsonl": "servegen_offline",
    "servegen_offline_hashes.jsonl": "servegen_offline",
    "servegen_trace.csv": "servegen",
    "sharegpt.json": "sharegpt",
    "vidur_arrivals.csv": "vidur",
    "vidur_lengths.csv": "vidur",
    "vllm_bench.json": "vllm_bench",
    "vllm_bench_no_times.json": "vllm_bench",
}
"""Every file in tests/data/workloads and the format that it is in."""


def data(name: str) -> bytes:
    """The bytes of a file in tests/data/workloads."""
    return (HERE / name).read_bytes()


def workload(name: str, options: Options | None = None) -> Workload:
    """The workload in a file of tests/data/workloads."""
    return read(data(name), options)


def lengths(found: Workload) -> list[tuple[int, int]]:
    """Prompt and output length of each row."""
    return [(row.prompt_len, row.output_len) for row in found.rows]


def seconds(found: Workload) -> list[float | None]:
    """The arrivals of the rows."""
    return [row.arrival_s for row in found.rows]


def note(found: Workload, key: str) -> tuple[int, float | str | None] | None:
    """Rows and value of the note with this key, if there is one."""
    return next(((n.rows, n.value) for n in found.notes if n.key == key), None)


def faults_in(content: bytes, options: Options | None = None) -> list[tuple[str, str]]:
    """Place and rule of each fault for which this content is refused."""
    with pytest.raises(WorkloadError) as refused:
        read(content, options)
    return [(fault.field, fault.rule) for fault in refused.value.faults]

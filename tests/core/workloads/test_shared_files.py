"""The real traces, where they lie beside the project: every one is read, with known figures.

The expected figures were taken from the files by other means than this project's code.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from core.workloads import Options, Workload, WorkloadError, read, sentences, to_requests
from tests.core.workloads.files import SHARED, needs_shared

pytestmark = needs_shared


class Figures(NamedTuple):
    """Rows; median, value at rank 0.95 n and greatest of prompts and outputs; seconds; CV."""

    rows: int
    prompt: tuple[int, int, int]
    output: tuple[int, int, int]
    span_s: float | None = None
    burstiness: float | None = None


FIGURES = {
    "azure2023/AzureLLMInferenceTrace_conv.csv":
        Figures(19_366, (1020, 4083, 14050), (129, 451, 1000), 3501.7, 1.09),
    "azure2023/AzureLLMInferenceTrace_code.csv":
        Figures(8_819, (1469, 7315, 7437), (13, 90, 1899), 3435.9, 13.15),
    "azure2024-format/fixture_2024_timestamp_format.csv":
        Figures(60, (1010, 8611, 12187), (93, 338, 593), 31.5, 1.11),
    "mooncake/conversation_trace.first2000.jsonl":
        Figures(2_000, (7967, 47725, 123192), (363, 690, 2000), 669.0, 2.82),
    "mooncake/synthetic_trace.jsonl":
        Figures(3_993, (11587, 49009, 191378), (69, 519, 893), 1022.0, 1.01),
    "vidur/splitwise_conv.first2000.csv":
        Figures(2_000, (1032, 4079, 7930), (239, 498, 1000), 424.3, 1.14),
    "vidur/splitwise_code.csv":
        Figures(8_819, (1469, 7315, 7437), (13, 90, 1899), 3435.9, 13.15),
    "vidur/arxiv_summarization.first2000.csv":
        Figures(2_000, (2688, 3808, 4017), (167, 1165, 3931)),
    "sarathi/sharegpt_8k_filtered.first2000.csv":
        Figures(2_000, (1667, 6470, 8014), (448, 929, 1023)),
    "llmservingsim/example_trace.jsonl":
        Figures(10, (15, 22, 22), (69, 104, 104), 1.0, 0.83),
    "llmservingsim/workload_me2_01_mixed.jsonl":
        Figures(608, (2910, 26499, 31383), (875, 13086, 15890), 60.9, 0.99),
    "llmservingsim/sharegpt-llama-3.1-8b.first20.jsonl":
        Figures(20, (1034, 3452, 3452), (745, 769, 769), 1.8, 1.05),
    "llmservingsim/measured-vllm-0.19-rtx4090/requests.jsonl":
        Figures(300, (733, 1785, 3998), (633, 773, 1021), 29.1, 0.94),
    "llmservingsim/measured-vllm-0.19-rtxpro6000/requests.jsonl":
        Figures(300, (733, 1785, 3998), (633, 773, 1021), 29.1, 0.94),
    "burstgpt/BurstGPT_1.head3.csv":
        Figures(3, (472, 1087, 1087), (230, 276, 276), 113.0, 0.29),
    # with the rows that have no output, as they were counted
    "burstgpt/fixture_v1_header.csv":
        Figures(400, (287, 1700, 3529), (77, 468, 1073), 2257.0, 1.83),
    "burstgpt/fixture_v2_header.csv":
        Figures(200, (304, 1680, 3529), (77, 468, 1073), 995.0, 1.77),
}
OTHERS = {"servegen", "servegen-offline", "qwen-bailian"}
WITHOUT_REQUESTS = {"meta.json", "timeseries.csv"}
"""What lies beside a measured run and holds no requests."""


def shared(name: str, options: Options | None = None) -> Workload:
    """A real trace."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not there")
    return read(path.read_bytes(), options)


@pytest.mark.parametrize("name", FIGURES)
def test_real_trace_has_the_known_figures(name: str) -> None:
    summary = shared(name, Options(zero_outputs="one")).summary
    expected = FIGURES[name]
    assert summary.num_requests == expected.rows
    assert (summary.prompt.median, summary.prompt.p95, summary.prompt.max) == expected.prompt
    assert (summary.output.median, summary.output.p95, summary.output.max) == expected.output
    if expected.span_s is None:
        assert summary.time_unit is None
    else:
        assert summary.span == pytest.approx(expected.span_s, abs=0.051)
        assert summary.burstiness == pytest.approx(expected.burstiness, abs=0.0051)


@pytest.mark.parametrize(("name", "zeros"), [("v1", 10), ("v2", 5)])
def test_real_burstgpt_drops_its_failed_requests(name: str, zeros: int) -> None:
    notes = shared(f"burstgpt/fixture_{name}_header.csv").notes
    assert [note.rows for note in notes if note.key == "zero_output"] == [zeros]


@pytest.mark.parametrize(("name", "share"), [
    ("conversation_trace.first2000.jsonl", 0.289), ("synthetic_trace.jsonl", 0.640)])
def test_real_mooncake_shares_the_known_part_of_its_blocks(name: str, share: float) -> None:
    assert shared(f"mooncake/{name}").summary.shared == pytest.approx(share, abs=0.0005)


def test_real_traces_are_all_tested() -> None:
    files = {path.relative_to(SHARED).as_posix() for path in SHARED.rglob("*") if path.is_file()}
    untested = {name for name in files - set(FIGURES) if name.split("/")[0] not in OTHERS}
    assert {name.split("/")[-1] for name in untested} == WITHOUT_REQUESTS | {"README.md"}


FILES = [path for path in sorted(SHARED.rglob("*.*"), key=str)
         if path.suffix in (".csv", ".json", ".jsonl") and path.is_file()
         and not path.name.endswith("dataset.json")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SHARED).as_posix())
def test_every_real_file_is_read_or_refused_with_a_reason(path: Path) -> None:
    options = Options()
    pair = path.with_name(path.name.replace("trace.csv", "dataset.json"))
    if pair != path and pair.exists():
        options = Options(companion=pair.read_bytes(), duration_s=60.0)
    if path.name in WITHOUT_REQUESTS:
        with pytest.raises(WorkloadError, match="known formats"):
            read(path.read_bytes(), options)
        return
    workload = read(path.read_bytes(), options)
    assert len(sentences(workload.summary)) >= 3
    assert len(to_requests(workload)) == len(workload.rows)

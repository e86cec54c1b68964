"""The page of measured runs: uploaded files, bad files, the made-up run, the published runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.measured_runs import NAMES, made_up
from tests.pages.test_pages import open_app, shown, warm_server

__all__ = ["warm_server"]  # an autouse fixture

SHARED = Path(__file__).parents[3] / "shared" / "workloads" / "llmservingsim"
META: dict[str, Any] = {
    "model": "meta-llama/Llama-3.1-8B",
    "engine_kwargs": {"max_num_seqs": 8, "max_num_batched_tokens": 64, "max_model_len": 256},
    "kv_cache": {"num_gpu_blocks": 40, "block_size": 16},
    "hardware": {"device_name": "NVIDIA GeForce RTX 4090"}}


def tiny_run(**changes: str) -> list[tuple[str, bytes, str]]:
    """Three files in the form of a measured run: four requests that take about two seconds."""
    lines = [json.dumps({"request_id": f"q{i}", "input_toks": 20 + i, "output_toks": 5,
                         "queued_ts": 100.0 + i / 10, "first_token_ts": 101.0 + i / 10,
                         "last_token_ts": 102.0 + i / 10}) for i in range(4)]
    files = {"requests.jsonl": "\n".join(lines), "meta.json": json.dumps(META),
             "timeseries.csv": "t,running,waiting\n1.0,2,1\n2.0,1,0\n", **changes}
    return [(name, text.encode(), "text/plain") for name, text in files.items()]


def with_files(files: list[tuple[str, bytes, str]]) -> AppTest:
    """The measured page with these files uploaded."""
    app = open_app("measured.py")
    return app.get("file_uploader")[0].set_value(files).run()


def test_measured_page_without_files_shows_a_made_up_run_and_says_so() -> None:
    app = open_app("measured.py")
    assert "Made up, not measured" in app.info[0].value
    assert "15 to 25 %" in shown(app) and "fitted" in shown(app)
    assert sorted(name for name, _ in made_up()) == sorted(NAMES)


def test_measured_page_made_up_run_is_met_at_its_own_efficiency() -> None:
    app = open_app("measured.py")
    assert "| latency mean, ms |" in shown(app)
    app.select_slider(key="measured_efficiency").set_value(0.75).run()
    rows = [line for line in shown(app).splitlines() if "mean, ms" in line]
    assert len(rows) == 3 and all(row.endswith("| +0.0% |") for row in rows)


def test_measured_page_holds_uploaded_files_against_the_simulator() -> None:
    app = with_files(tiny_run())
    assert not app.exception and not app.error and not app.info
    assert "4 requests, Llama-3-8B on 1 × RTX 4090" in shown(app)
    assert "| latency mean, ms | 2,000 |" in shown(app)
    assert "| TPOT mean, ms | 250 |" in shown(app)
    assert "| running peak | 2 |" in shown(app)


@pytest.mark.parametrize(("files", "told"), [
    (tiny_run()[:1], "timeseries.csv"),
    (tiny_run(**{"meta.json": "["}), "meta.json"),
    (tiny_run(**{"requests.jsonl": "{}"}), "requests.jsonl line 1"),
    (tiny_run(**{"requests.jsonl": json.dumps({
        "input_toks": float("nan"), "output_toks": 1, "queued_ts": 0, "first_token_ts": 1,
        "last_token_ts": 1})}), "files"),
    (tiny_run(**{"meta.json": json.dumps({**META, "model": "gpt-2"})}), "model"),
    (tiny_run(**{"meta.json": json.dumps({**META, "engine_kwargs": {"max_num_seqs": "many"}})}),
     "max_num_seqs"),
])
def test_measured_page_says_what_is_wrong_with_files(
        files: list[tuple[str, bytes, str]], told: str) -> None:
    app = with_files(files)
    assert not app.exception, app.exception
    assert f"`{told}`" in app.error[0].value or told in app.error[0].value


def test_measured_page_of_an_unknown_gpu_asks_for_one() -> None:
    app = with_files(tiny_run(**{"meta.json": json.dumps({**META, "hardware": {}})}))
    assert "gpu" in app.error[0].value
    app.selectbox(key="measured_gpu").set_value("L4").run()
    assert not app.error and "1 × L4" in shown(app)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the measured runs in ../shared/workloads")
@pytest.mark.parametrize(("name", "gpu"), [("rtx4090", "RTX 4090"),
                                           ("rtxpro6000", "RTX PRO 6000")])
def test_measured_page_meets_the_published_runs_as_it_says(name: str, gpu: str) -> None:
    folder = SHARED / f"measured-vllm-0.19-{name}"
    app = open_app("measured.py")
    app.selectbox(key="measured_gpu").set_value(gpu).run()
    app.get("file_uploader")[0].set_value(
        [(each, (folder / each).read_bytes(), "text/plain") for each in NAMES]).run()
    text = shown(app)
    column = 2 if gpu == "RTX 4090" else 3
    said = {line.split(" | ")[0].lstrip("| "): line.split("|")[column].strip().replace(" %", "")
            for line in text.splitlines() if line.startswith("| mean ")}
    for key, label in (("TTFT", "TTFT"), ("TPOT", "TPOT"), ("latency", "latency")):
        row = next(line for line in text.splitlines() if line.startswith(f"| {label} mean, ms"))
        assert row.split("|")[-2].strip() == said[f"mean {key}"] + "%"

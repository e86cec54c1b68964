"""The replay command's work: what it prints and returns for good, differing and broken files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from core.replay import RecordingError, main, read_recording

GOLDEN = Path(__file__).parents[1] / "golden"
V0 = GOLDEN / "v0" / "delay-factor.json.gz"
V1 = GOLDEN / "v1" / "01-fcfs-roomy.json.gz"


def contents(path: Path = V0) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return data


def written(folder: Path, data: object, name: str = "recording.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(data), "utf-8")
    return path


def test_replay_of_identical_recordings_returns_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([V0, V1]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{V0}: 3 of 3 scenarios identical (123 steps)",
        f"{V1}: 8 of 8 scenarios identical (374 steps)",
    ]


def test_replay_of_a_plain_json_file_takes_it_too(tmp_path: Path) -> None:
    assert main([str(written(tmp_path, contents()))]) == 0


def test_replay_of_a_differing_recording_says_where_and_returns_1(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = contents()
    data["traces"][1]["steps"][7]["free_gpu_blocks"] += 1
    data["traces"][2]["steps"][0]["free_gpu_blocks"] += 1
    path, real = written(tmp_path, data), data["traces"][1]["steps"][7]["free_gpu_blocks"]
    assert main([path]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{path}: 1 of 3 scenarios identical (123 steps)",
        f"  {data['traces'][1]['scenario']['name']}, step 7, free_gpu_blocks:"
        f" ours {real - 1}, theirs {real}",
    ]


def test_replay_of_a_recording_cut_short_says_so_and_returns_1(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = contents()
    steps = data["traces"][0]["steps"]
    count = len(steps)
    steps.pop()
    assert main([written(tmp_path, data)]) == 1
    assert f"at the end, number of steps: ours {count}, theirs {count - 1}" in (
        capsys.readouterr().out)


def test_replay_goes_on_behind_a_refused_file_and_returns_2(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.json"
    assert main([missing, V0]) == 2
    refused, good = capsys.readouterr().out.splitlines()
    assert refused.startswith(f"{missing}: refused: ")
    assert good.startswith(f"{V0}: 3 of 3")


def test_replay_of_a_scenario_with_faults_names_them_all(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = contents()
    data["traces"][0]["scenario"]["config"].update(block_size=0, watermark=2)
    assert main([written(tmp_path, data)]) == 2
    told = capsys.readouterr().out
    for part in (data["traces"][0]["scenario"]["name"], "config.block_size = 0",
                 "config.watermark = 2"):
        assert part in told


@pytest.mark.parametrize(("change", "told"), [
    ({"traces": []}, 'no list "traces"'),
    ({"traces": {}}, 'no list "traces"'),
    ({"traces": [1]}, 'trace 0: no "scenario"'),
    ({"traces": [{"scenario": {}}]}, 'trace 0: no "config"'),
    ({"traces": [{"scenario": {"config": {}}}]}, 'trace 0: no "requests"'),
    ({"traces": [{"scenario": {"config": {}, "requests": []}, "steps": [1]}]},
     'trace 0: no list "steps"'),
    ({"engine": "vllm 9 V2", "format": "v2-trace"},
     "neither V0 nor V1: \"engine\" is 'vllm 9 V2'"),
])
def test_file_in_another_form_is_refused_by_its_fault(
        tmp_path: Path, change: dict[str, Any], told: str) -> None:
    with pytest.raises(RecordingError, match=told.replace("(", "\\(")):
        read_recording(written(tmp_path, {**contents(), **change}))


@pytest.mark.parametrize("raw", [b"", b"{", b"[1]", b"\xff\xfe\x00", V0.read_bytes()[:500],
                                 V0.read_bytes()[:200] + b"\x00" * 50 + V0.read_bytes()[250:],
                                 b"[" * 100_000])
def test_bytes_that_are_no_recording_are_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(raw)
    with pytest.raises(RecordingError):
        read_recording(path)


@pytest.mark.parametrize(("engine", "form", "expected"), [
    ("vllm 0.6.6.post1 V0", None, "v0"), ("vllm 0.33.0 V1", None, "v1"),
    (None, "v0-trace/1", "v0"), (None, "v1-trace-1", "v1"),
])
def test_engine_is_told_by_its_name_or_by_the_format(
        tmp_path: Path, engine: str | None, form: str | None, expected: str) -> None:
    data = {**contents(), "engine": engine, "format": form}
    assert read_recording(written(tmp_path, data)).engine == expected

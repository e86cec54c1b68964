"""``python -m core export``: what it writes and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.cli import main
from tests.conftest import make_requests, make_scenario


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    """A scenario of V1 with two requests."""
    path = tmp_path / "two.json"
    path.write_text(make_scenario(make_requests(2), scheduler="vllm_v1").to_json())
    return path


@pytest.mark.parametrize(("name", "start"), [
    ("csv", b"PK"), ("perfetto", b'{"traceEvents"'), ("scenario", b"{"), ("recorded", b"{"),
    ("command", b"# for vLLM 0.6.6"),
])
def test_export_writes_the_file(name: str, start: bytes, scenario_file: Path,
                                capsys: pytest.CaptureFixture[str]) -> None:
    out = scenario_file.with_name("out")
    assert main(["export", str(scenario_file), "--format", name, "--out", str(out)]) == 0
    assert out.read_bytes().startswith(start)
    assert f"wrote {out}" in capsys.readouterr().out


def test_export_without_out_goes_to_standard_output(
        scenario_file: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["export", str(scenario_file), "--format", "perfetto"]) == 0
    assert json.loads(capfdbinary.readouterr().out)["displayTimeUnit"] == "ms"


def test_export_command_for_one_version(scenario_file: Path,
                                        capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["export", str(scenario_file), "--format", "command", "--vllm", "0.33"]) == 0
    assert capfdbinary.readouterr().out.count(b"vllm serve ") == 1


def test_export_of_a_run_that_gets_stuck_writes_it_and_exits_with_1(tmp_path: Path) -> None:
    path, out = tmp_path / "stuck.json", tmp_path / "out.json"
    path.write_text(make_scenario(make_requests(1, prompt_len=60), scheduler="vllm_v1",
                                  num_gpu_blocks=3).to_json())
    assert main(["export", str(path), "--format", "perfetto", "--out", str(out)]) == 1
    assert json.loads(out.read_bytes())["otherData"]["outcome"] == "stuck"


@pytest.mark.parametrize("change", [
    {"scheduler": "nobody"}, {"requests": [{"request_id": "a"}]}, {"scheduler": "article"}])
def test_export_of_a_refused_scenario_exits_with_2(
        change: dict[str, object], scenario_file: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(scenario_file.read_text())
    scenario_file.write_text(json.dumps({**data, **change}))
    assert main(["export", str(scenario_file), "--format", "recorded"]) == 2
    assert capsys.readouterr().err


def test_export_to_a_place_that_cannot_be_written_exits_with_2(
        scenario_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = scenario_file.parent / "nowhere" / "out"
    assert main(["export", str(scenario_file), "--format", "scenario", "--out", str(out)]) == 2
    assert "--out" in capsys.readouterr().err

"""The command line: exit codes, what is printed, and the files that are written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from core.cli import COMMANDS, main
from core.export.csv import TABLES, all_csv
from core.presets import FOLDER, load_presets
from tests.conftest import make_requests, make_scenario, run, two_that_outgrow_their_blocks

ROOT = Path(__file__).parents[2]


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    """The two requests of ``two_that_outgrow_their_blocks``, which take 7 steps."""
    path = tmp_path / "scenario.json"
    path.write_text(two_that_outgrow_their_blocks("article").scenario.to_json(), "utf-8")
    return path


def test_run_writes_the_tables_and_prints_a_summary(
        scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "folder"
    assert main(["run", str(scenario_file), "--out", str(out)]) == 0
    trace = two_that_outgrow_their_blocks("article")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == all_csv(trace)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "test (article)"
    assert "7 steps" in lines[1]
    assert ["num_swaps", "1"] in [line.split() for line in lines]
    assert [line for line in lines if line.startswith("wrote")] == [
        f"wrote {out / name}" for name in all_csv(trace)]


def test_run_without_out_writes_nothing(scenario_file: Path, tmp_path: Path) -> None:
    assert main(["run", str(scenario_file)]) == 0
    assert list(tmp_path.iterdir()) == [scenario_file]


def test_run_of_a_preset_file_takes_its_scenario(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "preset.json"
    scenario = json.loads(make_scenario(name="inside").to_json())
    path.write_text(json.dumps({"title": "T", "lesson": "L", "look_for": "F",
                                "scenario": scenario}), "utf-8")
    assert main(["run", str(path)]) == 0
    assert capsys.readouterr().out.startswith("inside (article)\n")


def test_run_with_set_and_scheduler_changes_the_scenario(
        scenario_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(scenario_file), "--scheduler", "article_repaired",
                 "--set", "num_gpu_blocks=8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "test (article_repaired)"
    assert ["num_swaps", "0"] in [line.split() for line in lines]


def test_run_of_a_trace_file_schedules_its_requests(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,9,3\n"
                    "2023-11-16 18:15:50.9951690,12,4\n", "utf-8")
    assert main(["run", str(path), "--set", "num_gpu_blocks=64"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "trace (vllm_v1)"
    assert ["num_output_tokens", "7"] in [line.split() for line in lines]


@pytest.mark.parametrize("content", ['{"requests": 3', "{}", "not a trace"])
def test_run_of_a_file_that_is_nothing_is_code_2(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    path = tmp_path / "broken"
    path.write_text(content, "utf-8")
    assert main(["run", str(path)]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err


@pytest.mark.parametrize("knobs", [
    {"num_gpu_blocks": 1},  # stuck: the prompt of 5 needs two
    {"num_gpu_blocks": 2, "num_cpu_blocks": 1},  # aborted: two blocks, one free on the CPU
    {"max_steps": 3},
])
def test_run_that_ends_abnormally_is_code_1_and_writes_the_tables(
        knobs: dict[str, int], tmp_path: Path) -> None:
    scenario = make_scenario(make_requests(1, prompt_len=5, output_len=9), **knobs)
    path = tmp_path / "scenario.json"
    path.write_text(scenario.to_json(), "utf-8")
    assert main(["run", str(path), "--out", str(tmp_path / "out")]) == 1
    assert len(list((tmp_path / "out").iterdir())) == len(TABLES) + 2


def test_run_of_a_refused_scenario_is_code_2_with_each_fault_on_a_line(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.json"
    path.write_text('{"max_steps": 0, "config": {"block_size": 0}}', "utf-8")
    assert main(["run", str(path), "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "config.block_size = 0: input should be greater than or equal to 1",
        "max_steps = 0: input should be greater than or equal to 1"]
    assert not (tmp_path / "out").exists()


def test_run_of_an_unknown_scheduler_is_code_2_and_names_those_there_are(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.json"
    path.write_text('{"scheduler": "lottery"}', "utf-8")
    assert main(["run", str(path)]) == 2
    assert "scheduler = 'lottery': must be one of article, " in capsys.readouterr().err


def test_run_of_knobs_that_the_scheduler_refuses_is_code_2(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.json"
    path.write_text('{"scheduler": "vllm_v1", "config": {"policy": "length"}}', "utf-8")
    assert main(["run", str(path)]) == 2
    assert capsys.readouterr().err.startswith("config.policy = 'length': ")


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"{", b"[]", b"3",
                                     b'{"scenario": 3}'])
def test_run_of_a_file_that_is_missing_or_no_scenario_is_code_2(
        content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.json"
    if content is not None:
        path.write_bytes(content)
    assert main(["run", str(path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_run_into_a_file_instead_of_a_folder_is_code_2(
        scenario_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(scenario_file), "--out", str(scenario_file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("--out = ")


def test_presets_lists_each_with_title_and_lesson(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    told = capsys.readouterr().out
    for preset in load_presets().values():
        assert f"presets/{preset.name}.json: {preset.title}\n" in told
        assert preset.lesson in told
    assert told.count(".json: ") == len(list(FOLDER.glob("*.json"))) >= 8


def test_replay_hands_over_the_files_and_its_exit_code(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "none.json"
    assert main(["replay", str(missing)]) == 2
    assert str(missing) in capsys.readouterr().out


def test_bench_quick_measures_each_shape_twice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--quick", "--scheduler", "vllm_v1"]) == 0
    header, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert header[:3] == ["scheduler", "shape", "requests"]
    assert [row[:3] for row in rows] == [
        ["vllm_v1", shape, count] for shape in ("light", "burst", "pressure")
        for count in ("200", "1,000")]
    assert {row[-1] for row in rows} == {"finished"}


def test_bench_of_an_unknown_scheduler_is_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--scheduler", "lottery"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("--scheduler = 'lottery': must be one of ")


@pytest.mark.parametrize("arguments", [[], ["fly"], ["run"], ["replay"],
                                       ["run", "a", "--first", "many"]])
def test_wrong_arguments_exit_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(
        command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"python -m core {command}" in capsys.readouterr().out


def test_module_runs_from_the_shell_with_its_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    path.write_text(run(make_requests(1, output_len=9), max_steps=3).scenario.to_json(), "utf-8")
    done = subprocess.run([sys.executable, "-m", "core", "run", str(path)], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("test (article)\n")


def test_export_html_is_a_page_with_the_run_inside(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.html"
    assert main(["export", str(scenario_file), "--format", "html", "--out", str(out)]) == 0
    page = out.read_text("utf-8")
    assert page.startswith("<!doctype html>") and "schedulerTheatre" in page
    assert "<title>test: article</title>" in page


def test_import_of_a_scenario_keeps_its_scheduler_and_knobs(
        scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "again.json"
    assert main(["import", str(scenario_file), "--out", str(out)]) == 0
    assert out.read_text("utf-8").strip() == scenario_file.read_text("utf-8").strip()


def test_run_of_a_scenario_refuses_what_is_for_trace_files(
        scenario_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(scenario_file), "--first", "1"]) == 2
    assert "--first = 1" in capsys.readouterr().err


def test_run_of_exported_requests_like_their_scenario_gives_the_same_tables(
        scenario_file: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert main(["run", str(scenario_file), "--out", str(first)]) == 0
    assert main(["run", str(first / "requests.csv"), "--like", str(scenario_file),
                 "--out", str(second)]) == 0
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name

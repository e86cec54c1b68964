"""``python -m core import``: the summary, the scenario it writes, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import Scenario, simulate
from core.cli import main
from core.cli.inputs import knobs_from
from core.faults import ScenarioError
from core.trace import Outcome
from core.workloads import Slice, apply, read
from core.workloads.scenarios import to_scenario
from tests.core.workloads.files import HERE, data, workload


def test_import_prints_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(HERE / "burstgpt_v1.csv")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("BurstGPT: 3 requests in 113.0 s")
    assert lines[-1] == "Times are counted from the first arrival."


def test_import_out_writes_a_scenario_that_runs(tmp_path: Path) -> None:
    out = tmp_path / "scenario.json"
    assert main(["import", str(HERE / "azure_2023.csv"), "--first", "3", "--out", str(out)]) == 0
    scenario = Scenario.from_json(out.read_bytes())
    assert [r.arrival_s for r in scenario.requests] == [0.0, 0.4999999, 1.7499999]
    assert (scenario.clock, scenario.scheduler, scenario.name) == (
        "seconds", "vllm_v1", "azure_2023")
    assert simulate(scenario).end.outcome is Outcome.FINISHED


def test_import_takes_slices_knobs_and_a_machine(tmp_path: Path) -> None:
    out = tmp_path / "scenario.json"
    assert main(["import", str(HERE / "vidur_lengths.csv"), "--rate", "2", "--seed", "1",
                 "--max-prompt-len", "500", "--seconds-per-step", "0.1",
                 "--scheduler", "vllm_v0", "--gpu", "H100", "--model", "Llama-3-8B",
                 "--set", "max_num_seqs=9", "--set", "preemption_mode=swap",
                 "--out", str(out)]) == 0
    scenario = Scenario.from_json(out.read_bytes())
    assert {r.prompt_len for r in scenario.requests} == {500}
    assert scenario.requests[1].arrival_step > 0
    assert scenario.clock == "step"
    assert (scenario.config.max_num_seqs, scenario.config.preemption_mode) == (9, "swap")
    assert scenario.machine is not None
    assert scenario.machine.gpu == "H100"


def test_import_two_files_are_a_servegen_client(capsys: pytest.CaptureFixture[str]) -> None:
    pair = [str(HERE / "servegen_trace.csv"), str(HERE / "servegen_dataset.json")]
    assert main(["import", *pair, "--duration-s", "60", "--seed", "4"]) == 0
    assert "with seed 4" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [
    ["nowhere.csv"],
    [str(HERE)],
    [__file__],
    [str(HERE / "plain.csv")] * 3,
    [str(HERE / "servegen_trace.csv")],
    [str(HERE / "plain.csv"), "--start", "50"],
    [str(HERE / "plain.csv"), "--first", "0"],
    [str(HERE / "plain.csv"), "--end", "-1"],
    [str(HERE / "plain.csv"), "--out", "out.json", "--set", "max_num_seqs"],
    [str(HERE / "plain.csv"), "--out", "out.json", "--set", "max_num_seqs=0"],
    [str(HERE / "plain.csv"), "--out", "out.json", "--gpu", "abacus"],
    [str(HERE / "plain.csv"), "--out", "nowhere/out.json"],
])
def test_import_of_what_is_refused_exits_with_2_and_a_reason(
        arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["import", *arguments]) == 2
    assert capsys.readouterr().err.strip()
    assert not list(tmp_path.iterdir())


def test_knobs_are_read_as_json_and_else_as_text() -> None:
    words = ["a=3", "b=0.5", "c=true", "d=swap", "e=null", "f=True", "g=x=y"]
    assert knobs_from(words) == {"a": 3, "b": 0.5, "c": True, "d": "swap", "e": None, "f": True,
                                 "g": "x=y"}
    with pytest.raises(ScenarioError):
        knobs_from(["a"])


def test_to_scenario_of_steps_counts_steps() -> None:
    scenario = to_scenario(workload("plain.csv"))
    assert scenario.clock == "step"
    assert [r.arrival_step for r in scenario.requests] == [0, 2]


def test_to_scenario_caches_prefixes_only_where_there_are_some() -> None:
    assert to_scenario(workload("mooncake.jsonl")).config.enable_prefix_caching
    assert not to_scenario(workload("azure_2023.csv")).config.enable_prefix_caching


@pytest.mark.parametrize("scheduler", ["vllm_v0", "vllm_v1", "article_repaired"])
def test_to_scenario_engine_has_room_for_the_longest_request(scheduler: str) -> None:
    found = apply(read(data("mooncake.jsonl")), Slice(prompt_factor=4.0))
    assert simulate(to_scenario(found, scheduler=scheduler)).end.outcome is Outcome.FINISHED

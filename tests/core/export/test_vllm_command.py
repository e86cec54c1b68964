"""The command line of vLLM: each flag by version, against its default, and what is only said."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import Scenario
from core.cost.machine import Machine
from core.cost.models import MODELS
from core.export.vllm_command import SENTENCES, Command, vllm_command
from core.export.vllm_flags import FLAGS, MODEL_IDS, VERSIONS, Version
from core.scenario import EngineConfig
from tests.conftest import make_scenario
from tests.strategies import scenarios

OLD: Version = "0.6.6"
NEW: Version = "0.33"

PLAIN: dict[Version, dict[str, Any]] = {
    OLD: {"block_size": 16, "num_gpu_blocks": 1000, "max_num_seqs": 256, "max_model_len": 2048,
          "max_num_batched_tokens": 2048, "watermark": 0.01},
    NEW: {"block_size": 16, "num_gpu_blocks": 1000, "max_num_seqs": 256, "max_model_len": 2048,
          "max_num_batched_tokens": 2048, "enable_chunked_prefill": True,
          "enable_prefix_caching": True},
}
"""Knobs at the defaults of the version, as far as it has any."""
ALWAYS: dict[Version, list[str]] = {
    OLD: ["--max-model-len", "2048", "--num-gpu-blocks-override", "1000"],
    NEW: ["--max-model-len", "2048", "--num-gpu-blocks-override", "1000", "--block-size", "16",
          "--max-num-seqs", "256", "--max-num-batched-tokens", "2048"],
}
"""What is written then: that of which the default is not known."""
SCHEDULERS = {OLD: "vllm_v0", NEW: "vllm_v1"}

NOT_IN_0_6_6 = {
    "--watermark", "--long-prefill-token-threshold", "--long-prefill-token-threshold-adaptive",
    "--scheduler-reserve-full-isl", "--no-scheduler-reserve-full-isl",
    "--max-num-scheduled-tokens", "--max-num-active-seqs", "--prefill-schedule-interval",
    "--no-enable-chunked-prefill",
}
NOT_IN_0_33 = {"--swap-space", "--preemption-mode", "--scheduler-delay-factor"}


def command(version: Version, model: str | None = None, scheduler: str | None = None,
            machine: Machine | None = None, **knobs: Any) -> Command:
    """The command for the version's defaults with some knobs changed."""
    scenario = Scenario.parse({
        "scheduler": scheduler or SCHEDULERS[version], "config": {**PLAIN[version], **knobs},
        "machine": machine})
    return vllm_command(scenario, version, model)


def remarks(found: Command) -> list[tuple[str, str]]:
    """Key and knob of each remark but the one that is always there."""
    always = ("blocks_are_a_test", "synchronous")
    return [(r.key, r.knob) for r in found.remarks if r.key not in always]


@pytest.mark.parametrize("version", VERSIONS)
def test_command_of_defaults_writes_only_what_has_no_default(version: Version) -> None:
    found = command(version)
    assert list(found.arguments) == ["vllm", "serve", "MODEL", *ALWAYS[version]]
    assert remarks(found) == []


@pytest.mark.parametrize(("version", "knobs", "expected"), [
    (OLD, {"max_num_seqs": 7}, ["--max-num-seqs", "7"]),
    (OLD, {"block_size": 32}, ["--block-size", "32"]),
    (OLD, {"max_num_batched_tokens": 4096}, ["--max-num-batched-tokens", "4096"]),
    (OLD, {"policy": "priority"}, ["--scheduling-policy", "priority"]),
    (OLD, {"enable_chunked_prefill": True}, ["--enable-chunked-prefill", "True"]),
    (OLD, {"enable_prefix_caching": True}, ["--enable-prefix-caching"]),
    (OLD, {"preemption_mode": "swap"}, ["--preemption-mode", "swap"]),
    (OLD, {"preemption_mode": "recompute"}, ["--preemption-mode", "recompute"]),
    (OLD, {"delay_factor": 0.5}, ["--scheduler-delay-factor", "0.5"]),
    (NEW, {"policy": "priority"}, ["--scheduling-policy", "priority"]),
    (NEW, {"enable_chunked_prefill": False}, ["--no-enable-chunked-prefill"]),
    (NEW, {"enable_prefix_caching": False}, ["--no-enable-prefix-caching"]),
    (NEW, {"long_prefill_token_threshold": 512}, ["--long-prefill-token-threshold", "512"]),
    (NEW, {"long_prefill_token_threshold_adaptive": True},
     ["--long-prefill-token-threshold-adaptive"]),
    (NEW, {"scheduler_reserve_full_isl": False}, ["--no-scheduler-reserve-full-isl"]),
    (NEW, {"watermark": 0.05}, ["--watermark", "0.05"]),
    (NEW, {"prefill_schedule_interval": 4}, ["--prefill-schedule-interval", "4"]),
    (NEW, {"max_num_scheduled_tokens": 1024}, ["--max-num-scheduled-tokens", "1024"]),
    (NEW, {"max_num_active_seqs": 9}, ["--max-num-active-seqs", "9"]),
])
def test_command_writes_a_knob_that_is_not_at_its_default(
        version: Version, knobs: dict[str, Any], expected: list[str]) -> None:
    arguments = list(command(version, **knobs).arguments)[3:]
    at = arguments.index(expected[0])
    assert arguments[at : at + len(expected)] == expected
    assert arguments[:at] + arguments[at + len(expected) :] == ALWAYS[version]


@pytest.mark.parametrize(("version", "knobs", "word", "value"), [
    (NEW, {"max_num_seqs": 7}, "--max-num-seqs", "7"),
    (NEW, {"block_size": 64}, "--block-size", "64"),
    (NEW, {"max_num_batched_tokens": 8192}, "--max-num-batched-tokens", "8192"),
    (NEW, {"max_model_len": 100}, "--max-model-len", "100"),
    (OLD, {"num_gpu_blocks": 500}, "--num-gpu-blocks-override", "500"),
])
def test_command_writes_what_has_no_known_default(version: Version, knobs: dict[str, Any],
                                                  word: str, value: str) -> None:
    arguments = command(version, **knobs).arguments
    assert arguments[arguments.index(word) + 1] == value


def test_command_0_6_6_budget_default_follows_chunking_and_model_length() -> None:
    assert "--max-num-batched-tokens" not in command(
        OLD, max_model_len=8192, max_num_batched_tokens=8192).arguments
    assert "--max-num-batched-tokens" in command(
        OLD, max_model_len=8192, max_num_batched_tokens=8192,
        enable_chunked_prefill=True).arguments


def test_command_0_6_6_chunks_long_models_by_itself() -> None:
    long = {"max_model_len": 40_000, "max_num_batched_tokens": 40_000, "num_gpu_blocks": 9000}
    arguments = command(OLD, **long).arguments
    assert arguments[arguments.index("--enable-chunked-prefill") + 1] == "False"


@pytest.mark.parametrize(("version", "scheduler", "knobs", "knob"), [
    (OLD, "vllm_v0", {"watermark": 0.2}, "watermark"),
    (OLD, "vllm_v1", {"long_prefill_token_threshold": 64}, "long_prefill_token_threshold"),
    (OLD, "vllm_v1", {"scheduler_reserve_full_isl": False}, "scheduler_reserve_full_isl"),
    (NEW, "vllm_v0", {"preemption_mode": "swap", "num_cpu_blocks": 0}, "preemption_mode"),
    (NEW, "vllm_v0", {"num_cpu_blocks": 50, "preemption_mode": "swap"}, "num_cpu_blocks"),
    (NEW, "vllm_v0", {"delay_factor": 0.5, "num_cpu_blocks": 0}, "delay_factor"),
    (NEW, "article", {"policy": "length", "num_cpu_blocks": 0}, "policy"),
    (NEW, "article", {"compress_swapped": True, "num_cpu_blocks": 0}, "compress_swapped"),
])
def test_command_says_what_a_version_has_no_flag_for(
        version: Version, scheduler: str, knobs: dict[str, Any], knob: str) -> None:
    found = command(version, scheduler=scheduler, **knobs)
    assert ("no_flag", knob) in remarks(found)
    assert f"# {knob} = {knobs[knob]} cannot be said to vLLM {version}. " in found.text


@pytest.mark.parametrize(("version", "size"), [(OLD, 4), (OLD, 64), (NEW, 4), (NEW, 24)])
def test_command_never_writes_a_block_size_that_is_rejected(version: Version, size: int) -> None:
    found = command(version, block_size=size, num_gpu_blocks=5000)
    assert "--block-size" not in found.arguments
    assert ("block_size", "block_size") in remarks(found)


@pytest.mark.parametrize(("version", "knobs", "key"), [
    (OLD, {"max_num_seqs": 4096}, "tokens_below_seqs"),
    (NEW, {"max_num_seqs": 4096}, "tokens_below_seqs"),
    (OLD, {"max_model_len": 4096}, "tokens_below_model_len"),
    (NEW, {"max_model_len": 4096, "enable_chunked_prefill": False}, "tokens_below_model_len"),
    (NEW, {"long_prefill_token_threshold": 4096}, "threshold_above_model_len"),
    (OLD, {"num_gpu_blocks": 127}, "cache_below_model_len"),
    (NEW, {"num_gpu_blocks": 128}, "cache_below_model_len"),
])
def test_command_says_what_vllm_would_refuse(version: Version, knobs: dict[str, Any],
                                             key: str) -> None:
    assert key in [each for each, _ in remarks(command(version, **knobs))]


@pytest.mark.parametrize(("version", "knobs"), [
    (OLD, {"num_gpu_blocks": 128}), (NEW, {"num_gpu_blocks": 129}),
    (NEW, {"long_prefill_token_threshold": 2048}), (NEW, {"max_num_seqs": 2048}),
])
def test_command_says_nothing_at_the_edge_of_what_vllm_takes(version: Version,
                                                             knobs: dict[str, Any]) -> None:
    assert remarks(command(version, **knobs)) == []


@pytest.mark.parametrize("blocks", [1, 100, 333, 5000])
@pytest.mark.parametrize("model", ["Llama-3-8B", "OPT-13B"])
@pytest.mark.parametrize("gpus", [1, 2])
def test_command_swap_space_gives_just_as_many_blocks(blocks: int, model: str, gpus: int) -> None:
    machine = Machine(model=model, tensor_parallel=gpus)
    arguments = command(OLD, machine=machine, num_cpu_blocks=blocks,
                        preemption_mode="swap").arguments
    gib = float(arguments[arguments.index("--swap-space") + 1])
    assert int(gib * 2**30) // (16 * machine.kv_bytes_per_token()) == blocks


def test_command_swap_space_at_its_default_is_not_written() -> None:
    machine = Machine(model="Llama-3-8B")
    found = command(OLD, machine=machine, preemption_mode="swap",
                    num_cpu_blocks=4 * 2**30 // (16 * 131_072))
    assert "--swap-space" not in found.arguments


def test_command_swap_space_without_a_model_is_said() -> None:
    assert ("swap_needs_model", "num_cpu_blocks") in remarks(command(OLD, num_cpu_blocks=9,
                                                                     preemption_mode="swap"))


def test_command_swap_space_matters_only_to_who_swaps() -> None:
    machine = Machine(model="Llama-3-8B")
    assert "--swap-space" not in command(OLD, machine=machine, num_cpu_blocks=9).arguments


def test_command_of_the_article_swaps_unless_told_otherwise() -> None:
    arguments = command(OLD, scheduler="article").arguments
    assert arguments[arguments.index("--preemption-mode") + 1] == "swap"
    assert ("no_flag", "preemption_mode") in remarks(command(NEW, scheduler="article"))


@pytest.mark.parametrize(("version", "other"), [(OLD, "vllm_v1"), (NEW, "article")])
def test_command_says_that_another_scheduler_was_run(version: Version, other: str) -> None:
    assert ("other_scheduler", "scheduler") in remarks(command(version, scheduler=other))


def test_command_names_the_machines_model_and_gpus() -> None:
    found = command(NEW, machine=Machine(model="Llama-3-70B", tensor_parallel=4))
    assert found.arguments[2:5] == ("meta-llama/Meta-Llama-3-70B", "--tensor-parallel-size", "4")
    assert set(MODEL_IDS) == set(MODELS)


def test_command_quotes_what_a_shell_would_read() -> None:
    found = command(NEW, model="my model; rm -rf $HOME")
    assert "'my model; rm -rf $HOME'" in found.line
    assert shlex.split(found.line) == list(found.arguments)


def test_command_text_is_comments_and_one_command() -> None:
    text = command(OLD, scheduler="article", num_cpu_blocks=0, block_size=4).text
    *comments, last = text.splitlines()
    assert all(line.startswith("# ") for line in comments)
    assert last.startswith("vllm serve MODEL")


@settings(max_examples=100, deadline=None)
@given(scenarios(), st.sampled_from(VERSIONS))
def test_command_of_any_scenario_has_only_flags_of_its_version(scenario: Scenario,
                                                               version: Version) -> None:
    found = vllm_command(scenario, version)
    flags = {word for word in found.arguments if word.startswith("--")}
    assert not flags & (NOT_IN_0_6_6 if version == OLD else NOT_IN_0_33)
    known = {f.name for f in FLAGS[version].values()} | {"--swap-space", "--tensor-parallel-size"}
    assert {flag.replace("--no-", "--") for flag in flags} <= known
    assert len(found.text.splitlines()) == len(found.remarks) + 2


@pytest.mark.parametrize("version", VERSIONS)
def test_flags_are_of_knobs_that_exist(version: Version) -> None:
    assert set(FLAGS[version]) <= set(EngineConfig.model_fields)


def test_every_remark_can_be_said() -> None:
    found = command(NEW, scheduler="vllm_v0", preemption_mode="swap", max_num_seqs=4096,
                    block_size=4, num_gpu_blocks=2, long_prefill_token_threshold=9999,
                    max_model_len=9000, enable_chunked_prefill=False)
    old = command(OLD, num_cpu_blocks=9, preemption_mode="swap")
    assert {r.key for r in (*found.remarks, *old.remarks)} == set(SENTENCES)
    assert "{" not in found.text + old.text


def test_command_leaves_out_knobs_that_the_run_did_not_depend_on() -> None:
    scenario = make_scenario(scheduler="vllm_v1", preemption_mode="swap", delay_factor=2.0)
    text = vllm_command(scenario, "0.6.6").text
    assert "--preemption-mode" not in text and "--scheduler-delay-factor" not in text


@pytest.mark.parametrize(("version", "flag"), [("0.6.6", "--disable-async-output-proc"),
                                               ("0.33", "--no-async-scheduling")])
def test_command_says_that_the_model_is_synchronous(version: Version, flag: str) -> None:
    assert flag in vllm_command(make_scenario(scheduler="vllm_v1"), version).text

"""A scenario's engine as a ``vllm serve`` command line.

Only flags that the chosen version has and whose value is not its default; what it has no flag for
is said in remarks, and a flag that it would reject is never written.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.export.vllm_flags import (
    BLOCK_SIZES,
    EXPECTED_SCHEDULER,
    FIXED,
    FLAGS,
    MODEL_IDS,
    POLICIES,
    REASONS,
    SWAP_BY_DEFAULT,
    SWAP_SPACE,
    SWAP_SPACE_DEFAULT_GIB,
    SYNCHRONOUS,
    Version,
)
from core.scenario import EngineConfig, Scenario
from core.schedulers import schedulers

SENTENCES: dict[str, str] = {
    "other_scheduler": "vLLM {version} schedules as {expected} does; this run used {value}.",
    "no_flag": "{knob} = {value} cannot be said to vLLM {version}. {why}",
    "block_size": "block_size = {value}: the kernels on NVIDIA GPUs take {allowed}.",
    "swap_needs_model": "num_cpu_blocks = {value} is given in GiB (--swap-space), which depends on"
                        " the model: choose a machine.",
    "synchronous": "The run processes a step's outputs before the next step, as the recordings of"
                   " the engine do; a server does so with {value}.",
    "blocks_are_a_test": "--num-gpu-blocks-override is meant for testing preemption. In production"
                         " the number of blocks follows from --gpu-memory-utilization.",
    "tokens_below_seqs": "vLLM refuses this: max_num_batched_tokens must be at least max_num_seqs"
                         " ({value}).",
    "tokens_below_model_len": "vLLM refuses this: without chunked prefill max_num_batched_tokens"
                              " must be at least max_model_len ({value}).",
    "threshold_above_model_len": "vLLM refuses this: long_prefill_token_threshold must be at most"
                                 " max_model_len ({value}).",
    "cache_below_model_len": "vLLM refuses this: the KV cache holds {value} tokens, fewer than"
                             " max_model_len.",
}
"""English words for the keys of remarks."""


class Remark(NamedTuple):
    """Something that the command cannot say, or that must be known with it."""

    key: str
    """A key of SENTENCES."""
    knob: str
    value: Any = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A command and what must be said with it."""

    version: Version
    arguments: tuple[str, ...]
    """The words of the command, not quoted."""
    remarks: tuple[Remark, ...]

    @property
    def line(self) -> str:
        """The command, quoted for a POSIX shell."""
        return shlex.join(self.arguments)

    @property
    def text(self) -> str:
        """The remarks as comments, then the command; it can be pasted into a shell."""
        told = [f"# for vLLM {self.version}", *(f"# {self.said(r)}" for r in self.remarks)]
        return "\n".join([*told, self.line, ""])

    def said(self, remark: Remark) -> str:
        """A remark in English, on one line whatever its value is."""
        allowed = "8, 16 or 32" if self.version == "0.6.6" else "multiples of 16"
        text = SENTENCES[remark.key].format(
            version=self.version, expected=EXPECTED_SCHEDULER[self.version], allowed=allowed,
            knob=remark.knob, value=remark.value, why=remark.why)
        return " ".join(text.split())


def vllm_command(scenario: Scenario, version: Version = "0.33",
                 model: str | None = None) -> Command:
    """The command that starts an engine with the scenario's knobs.

    Args:
        model: Name of a model for vLLM; without it that of the scenario's machine, or ``MODEL``.
    """
    scenario = _spelled_out(scenario)
    config, machine = scenario.config, scenario.machine
    name = model or (MODEL_IDS.get(machine.model, machine.model) if machine else "MODEL")
    words = ["vllm", "serve", name]
    remarks = []
    if scenario.scheduler != EXPECTED_SCHEDULER[version]:
        remarks.append(Remark("other_scheduler", "scheduler", scenario.scheduler))
    if machine is not None and machine.tensor_parallel > 1:
        words += ["--tensor-parallel-size", str(machine.tensor_parallel)]
    read = _knobs_read(scenario)
    for knob, flag in FLAGS[version].items():
        if knob not in read:
            continue  # whatever it is set to, this run did not depend on it
        value = getattr(config, knob)
        unsaid = _unsayable(version, knob, value)
        if unsaid is not None:
            remarks.append(unsaid)
        elif flag.default is None or value != flag.default(config):
            words += flag.arguments(value)
    if version == "0.6.6":
        swap_words, swap_remarks = _swap_space(scenario)
        words += swap_words
        remarks += swap_remarks
    remarks += [*_without_flag(scenario, version), *_refused(config, version),
                Remark("synchronous", "scheduler", SYNCHRONOUS[version]),
                Remark("blocks_are_a_test", "num_gpu_blocks")]
    return Command(version, tuple(words), tuple(remarks))


def _spelled_out(scenario: Scenario) -> Scenario:
    """The scenario with the preemption mode that its scheduler takes where none is given."""
    if scenario.config.preemption_mode is None and scenario.scheduler in SWAP_BY_DEFAULT:
        return scenario.with_knobs(preemption_mode="swap")
    return scenario


def _unsayable(version: Version, knob: str, value: Any) -> Remark | None:
    """Values that the flag exists for and that the version rejects all the same."""
    if knob == "policy" and value not in POLICIES:
        return Remark("no_flag", knob, value, REASONS[knob])
    if knob == "block_size" and not BLOCK_SIZES[version](value):
        return Remark("block_size", knob, value)
    return None


def _swap_space(scenario: Scenario) -> tuple[list[str], list[Remark]]:
    """0.6.6: the swap space in GiB per GPU, so that it gives just as many blocks."""
    config = scenario.config
    if not _matters(config, "num_cpu_blocks"):
        return [], []
    if scenario.machine is None:
        return [], [Remark("swap_needs_model", "num_cpu_blocks", config.num_cpu_blocks)]
    block_bytes = config.block_size * scenario.machine.kv_bytes_per_token()
    # rounded up, since vLLM rounds down to whole blocks
    gib = math.ceil(config.num_cpu_blocks * block_bytes / 2**30 * 1e6) / 1e6
    if gib == SWAP_SPACE_DEFAULT_GIB:
        return [], []
    return [SWAP_SPACE, f"{gib:.6f}".rstrip("0").rstrip(".")], []


def _without_flag(scenario: Scenario, version: Version) -> list[Remark]:
    """Knobs that this run depends on and that the version has no flag for."""
    remarks = []
    for knob in _knobs_read(scenario):
        if knob in FLAGS[version] or (version == "0.6.6" and knob == "num_cpu_blocks"):
            continue
        value = getattr(scenario.config, knob)
        default = EngineConfig.model_fields[knob].default
        if value == FIXED[version].get(knob, default) or not _matters(scenario.config, knob):
            continue
        why = REASONS.get(f"{version}:{knob}") or REASONS.get(knob) or REASONS.get(version, "")
        remarks.append(Remark("no_flag", knob, value, why))
    return remarks


def _matters(config: EngineConfig, knob: str) -> bool:
    """Whether a knob has an effect, given the others."""
    if knob.startswith("compression_"):
        return config.compress_swapped
    if knob == "batch_group_size":
        return config.policy == "length"
    if knob == "num_cpu_blocks":
        return config.preemption_mode == "swap"
    return knob != "bypass_config_checks"


def _refused(config: EngineConfig, version: Version) -> list[Remark]:
    """What this version checks when it starts, and would not start with."""
    tokens, length = config.max_num_batched_tokens, config.max_model_len
    usable = config.num_gpu_blocks - (version == "0.33")  # V1 keeps block 0 for itself
    checks = {
        "tokens_below_seqs": (tokens < config.max_num_seqs, config.max_num_seqs),
        "tokens_below_model_len": (not config.enable_chunked_prefill and tokens < length, length),
        "threshold_above_model_len": (
            version == "0.33" and config.long_prefill_token_threshold > length, length),
        "cache_below_model_len": (usable * config.block_size < length,
                                  usable * config.block_size),
    }
    return [Remark(key, "max_num_batched_tokens", value)
            for key, (broken, value) in checks.items() if broken]


def _knobs_read(scenario: Scenario) -> tuple[str, ...]:
    """The knobs that the scenario's scheduler reads; all of them if it is unknown."""
    known = schedulers().get(scenario.scheduler)
    return known.knobs if known is not None else tuple(EngineConfig.model_fields)

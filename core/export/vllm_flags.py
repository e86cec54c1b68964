"""The flags of ``vllm serve`` for the knobs of a Scenario, by version, as data.

Names and defaults as in the argument parsers of vLLM 0.6.6 and 0.33. The defaults of max_num_seqs
and max_num_batched_tokens of 0.33 depend on the GPU's memory, that of block_size on the attention
backend, and that of num_gpu_blocks on the machine: such flags are always written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

from core.scenario import EngineConfig

Version = Literal["0.6.6", "0.33"]

VERSIONS: tuple[Version, ...] = get_args(Version)
"""What commands can be written for: the last version with V0 in full, and the newest."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of one version."""

    name: str
    default: Callable[[EngineConfig], Any] | None
    """What the version takes if the flag is not there, given the other knobs; None: unknown."""
    kind: Literal["value", "pair", "word"] = "value"
    """``--flag value``, ``--flag`` or ``--no-flag``, ``--flag True`` or ``--flag False``."""

    def arguments(self, value: Any) -> list[str]:
        """The words to write for this value."""
        if self.kind == "pair":
            return [self.name if value else self.name.replace("--", "--no-", 1)]
        return [self.name, str(value)]


def _always(value: Any) -> Callable[[EngineConfig], Any]:
    return lambda config: value


_BOTH = {
    "max_model_len": Flag("--max-model-len", None),
    "num_gpu_blocks": Flag("--num-gpu-blocks-override", None),
    "policy": Flag("--scheduling-policy", _always("fcfs")),
}

FLAGS: Mapping[Version, Mapping[str, Flag]] = MappingProxyType({
    "0.6.6": MappingProxyType({
        **_BOTH,
        "block_size": Flag("--block-size", _always(16)),
        "max_num_seqs": Flag("--max-num-seqs", _always(256)),
        "max_num_batched_tokens": Flag(
            "--max-num-batched-tokens",
            lambda c: 2048 if c.enable_chunked_prefill else max(c.max_model_len, 2048)),
        "enable_chunked_prefill": Flag(
            "--enable-chunked-prefill", lambda c: c.max_model_len > 32 * 1024, "word"),
        "enable_prefix_caching": Flag("--enable-prefix-caching", _always(False), "pair"),
        "preemption_mode": Flag("--preemption-mode", _always(None)),
        "delay_factor": Flag("--scheduler-delay-factor", _always(0.0)),
    }),
    "0.33": MappingProxyType({
        **_BOTH,
        "block_size": Flag("--block-size", None),
        "max_num_seqs": Flag("--max-num-seqs", None),
        "max_num_batched_tokens": Flag("--max-num-batched-tokens", None),
        "max_num_scheduled_tokens": Flag("--max-num-scheduled-tokens", _always(None)),
        "max_num_active_seqs": Flag("--max-num-active-seqs", _always(None)),
        "enable_chunked_prefill": Flag("--enable-chunked-prefill", _always(True), "pair"),
        "enable_prefix_caching": Flag("--enable-prefix-caching", _always(True), "pair"),
        "long_prefill_token_threshold": Flag("--long-prefill-token-threshold", _always(0)),
        "long_prefill_token_threshold_adaptive": Flag(
            "--long-prefill-token-threshold-adaptive", _always(False), "pair"),
        "scheduler_reserve_full_isl": Flag(
            "--scheduler-reserve-full-isl", _always(True), "pair"),
        "watermark": Flag("--watermark", _always(0.0)),
        "prefill_schedule_interval": Flag("--prefill-schedule-interval", _always(1)),
    }),
})
"""Knob by knob what a version has. Swap space has a rule of its own, see vllm_command.py."""

SWAP_SPACE = "--swap-space"
SWAP_SPACE_DEFAULT_GIB = 4.0
"""0.6.6: GiB of swap space per GPU. The flag left vLLM with 0.18.0."""

FIXED: Mapping[Version, Mapping[str, Any]] = MappingProxyType({
    "0.6.6": MappingProxyType({"watermark": 0.01}),
    "0.33": MappingProxyType({"delay_factor": 0.0, "num_cpu_blocks": 0}),
})
"""Knobs that a version has no flag for, with the value that it always has."""

SYNCHRONOUS: Mapping[Version, str] = MappingProxyType({
    "0.6.6": "--disable-async-output-proc",
    "0.33": "--no-async-scheduling",
})
"""Flags that switch off what the modelled engines were recorded without."""

REASONS: Mapping[str, str] = MappingProxyType({
    "0.6.6:watermark": "It is 0.01 inside this version.",
    "0.33:preemption_mode": "V1 never swaps, it recomputes.",
    "0.33:num_cpu_blocks": "Swap space left vLLM with 0.18.0; V1 never swapped.",
    "0.33:delay_factor": "The delay left vLLM with V0.",
    "policy": "This order is the article's own.",
    "batch_group_size": "Batches of similar lengths are the article's own.",
    "compress_swapped": "Compressing swapped blocks is the article's own.",
    "compression_ratio": "Compressing swapped blocks is the article's own.",
    "compression_min_blocks": "Compressing swapped blocks is the article's own.",
    "0.6.6": "It came with a later version.",
})
"""Why something cannot be said to a version: by version and knob, by knob, by version."""

SWAP_BY_DEFAULT = frozenset({"article", "article_repaired"})
"""Schedulers that swap where no preemption_mode is given; vLLM recomputes."""

POLICIES = ("fcfs", "priority")
"""Queue orders that vLLM has."""

BLOCK_SIZES: Mapping[Version, Callable[[int], bool]] = MappingProxyType({
    "0.6.6": (8, 16, 32).__contains__,
    "0.33": lambda size: size % 16 == 0,
})
"""Which block sizes the attention kernels on NVIDIA GPUs take."""

MODEL_IDS: Mapping[str, str] = MappingProxyType({
    "TinyLlama-1.1B": "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
    "Llama-2-7B": "meta-llama/Llama-2-7b-hf",
    "Llama-2-13B": "meta-llama/Llama-2-13b-hf",
    "Llama-2-70B": "meta-llama/Llama-2-70b-hf",
    "Llama-3-8B": "meta-llama/Meta-Llama-3-8B",
    "Llama-3-70B": "meta-llama/Meta-Llama-3-70B",
    "Mistral-7B": "mistralai/Mistral-7B-v0.1",
    "Mixtral-8x7B": "mistralai/Mixtral-8x7B-v0.1",
    "Qwen2.5-7B": "Qwen/Qwen2.5-7B",
    "Qwen2.5-32B": "Qwen/Qwen2.5-32B",
    "OPT-13B": "facebook/opt-13b",
})
"""Names on Hugging Face of the models in core/cost/models.py."""

EXPECTED_SCHEDULER: Mapping[Version, str] = MappingProxyType(
    {"0.6.6": "vllm_v0", "0.33": "vllm_v1"})
"""Which of our schedulers decides as the version does."""

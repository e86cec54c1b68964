"""The figures of GPUs and models: each has a source, and the sums agree with published sizes."""

from __future__ import annotations

import pytest

from core.cost.codecs import CODECS
from core.cost.gpus import GPUS
from core.cost.models import MODELS

PUBLISHED = {  # parameters in 10^9 and KiB of K and V per token
    "TinyLlama-1.1B": (1.10, 22), "Llama-2-7B": (6.74, 512), "Llama-2-13B": (13.02, 800),
    "Llama-2-70B": (68.98, 320), "Llama-3-8B": (8.03, 128), "Llama-3-70B": (70.55, 320),
    "Mistral-7B": (7.24, 128), "Mixtral-8x7B": (46.70, 128), "Qwen2.5-7B": (7.62, 56),
    "Qwen2.5-32B": (32.76, 256), "OPT-13B": (12.84, 800),
}


def test_gpus_are_the_nine_and_every_figure_has_its_source() -> None:
    assert set(GPUS) == {"A100-80G", "H100", "H200", "L4", "A10", "RTX 4090", "T4", "A40",
                         "RTX PRO 6000"}
    for gpu in GPUS.values():
        figures = {name for name in gpu.__slots__ if name not in ("name", "sources")}
        assert set(gpu.sources) == figures
        assert all(gpu.sources.values())


@pytest.mark.parametrize("name", PUBLISHED)
def test_model_sums_agree_with_its_published_size(name: str) -> None:
    params, kv_kib = PUBLISHED[name]
    assert round(MODELS[name].num_params / 1e9, 2) == params
    assert MODELS[name].kv_bytes_per_token == kv_kib * 1024


def test_models_are_the_eleven_and_each_has_a_source() -> None:
    assert set(MODELS) == set(PUBLISHED)
    assert all(model.source for model in MODELS.values())


def test_model_of_llama_2_7b_reads_and_computes_what_its_layers_hold() -> None:
    # a layer: 4 x 4096 x 4096 for q, k, v, o and 3 x 4096 x 11008 for gate, up, down
    model = MODELS["Llama-2-7B"]
    weights = 32 * (4 * 4096 * 4096 + 3 * 4096 * 11008)
    assert model.linear_bytes(1) == model.linear_bytes(500) == 2 * weights
    assert model.linear_flops_per_token == 2 * weights
    assert model.attention_flops_per_pair == 4 * 32 * 32 * 128


def test_model_with_experts_reads_two_for_one_token_and_nearly_all_for_sixteen() -> None:
    model = MODELS["Mixtral-8x7B"]
    attention, expert = 2 * model.attention_params, 2 * model.expert_params
    assert model.linear_bytes(1) == pytest.approx(attention + 2 * expert)
    assert model.linear_bytes(2) == pytest.approx(attention + 8 * (1 - 0.75**2) * expert)
    assert model.linear_bytes(16) > 0.98 * (attention + 8 * expert)


@pytest.mark.parametrize(("name", "a100_ms", "t4_ms"), [("int8", 2.233, 11.648)])
def test_codec_speed_follows_the_bandwidth_of_the_gpus_it_was_measured_on(
        name: str, a100_ms: float, t4_ms: float) -> None:
    """256 MiB of Llama-3.1-8B, KVShuttle's calibrations; the A100 is the one with 1555 GB/s."""
    for bandwidth, measured in ((1555e9, a100_ms), (320e9, t4_ms)):
        seconds = 256 * 2**20 / (CODECS[name].compress_share * bandwidth)
        assert seconds * 1e3 == pytest.approx(measured, rel=0.05)

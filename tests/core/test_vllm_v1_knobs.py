"""V1's knobs, and what vLLM checks before its scheduler. Blocks hold 4 tokens."""

from __future__ import annotations

from typing import Any

import pytest

from core import EngineConfig, ScenarioError, simulate
from core.schedulers import schedulers
from core.schedulers.vllm_v1_checks import (
    frontend_would_reject,
    startup_refusal,
    startup_would_reject,
)
from core.trace import Cause, Limit
from tests.conftest import make_requests, make_scenario


def test_v1_prompt_of_max_model_len_is_refused_by_the_front_end_one_token_less_is_not() -> None:
    scenario = make_scenario(make_requests(2, prompt_len=[8, 7]), max_model_len=8)
    assert frontend_would_reject(scenario) == ["1"]


def test_v1_starts_only_if_one_longest_sequence_fits_beside_the_null_block() -> None:
    assert startup_would_reject(make_scenario(max_model_len=32, num_gpu_blocks=8))
    assert not startup_would_reject(make_scenario(max_model_len=28, num_gpu_blocks=8))
    config = EngineConfig(block_size=4, max_model_len=32, num_gpu_blocks=8)
    assert startup_refusal(config) == Cause(Limit.GPU_BLOCKS, 8, 7)


def test_v1_refuses_the_articles_length_policy() -> None:
    with pytest.raises(ScenarioError, match=r"config\.policy"):
        simulate(make_scenario(make_requests(1), scheduler="vllm_v1", policy="length"))


def test_v1_reads_exactly_the_knobs_it_names() -> None:
    read: set[str] = set()
    all_read: set[str] = set()

    class Watched(EngineConfig):
        def __getattribute__(self, name: str) -> Any:
            if name in EngineConfig.model_fields:
                read.add(name)
            return super().__getattribute__(name)

    scenario = make_scenario(make_requests(3, prompt_len=12), scheduler="vllm_v1",
                             max_num_batched_tokens=16)
    for knobs in ({}, {"long_prefill_token_threshold": 3}):
        config = Watched(**{**scenario.config.model_dump(), **knobs})
        read.clear()
        simulate(scenario.model_copy(update={"config": config}))
        all_read |= read
    assert all_read == set(schedulers()["vllm_v1"].knobs)

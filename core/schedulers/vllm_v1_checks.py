"""What vLLM V1 checks before its scheduler, which has no guard of its own (golden/v1, odd cases).

The simulated scheduler runs such scenarios all the same, as the recordings do: they end stuck, or
never. These functions say what a real server would have said before.
"""

from __future__ import annotations

from core.blocks import blocks_for
from core.scenario import EngineConfig, Scenario
from core.trace import Cause, Limit


def startup_refusal(config: EngineConfig) -> Cause | None:
    """vLLM does not start if its usable blocks cannot hold one sequence of max_model_len tokens.

    ``needed`` and ``available`` are blocks; block 0 is not usable.
    """
    needed, usable = blocks_for(config.max_model_len, config.block_size), config.num_gpu_blocks - 1
    return Cause(Limit.GPU_BLOCKS, needed, usable) if needed > usable else None


def startup_would_reject(scenario: Scenario) -> bool:
    """Whether vLLM would not start with these knobs."""
    return startup_refusal(scenario.config) is not None


def frontend_refusals(scenario: Scenario) -> dict[str, Cause]:
    """The requests that vLLM's input check refuses, since nothing can be generated behind them.

    By request id; ``needed`` is the prompt with one generated token, ``available`` max_model_len.
    """
    longest = scenario.config.max_model_len
    return {r.request_id: Cause(Limit.MODEL_LEN, r.prompt_len + 1, longest)
            for r in scenario.requests if r.prompt_len + 1 > longest}


def frontend_would_reject(scenario: Scenario) -> list[str]:
    """The ids of the requests that vLLM's input check refuses."""
    return list(frontend_refusals(scenario))

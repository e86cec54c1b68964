"""A Workload and an engine that is fit for it, as a Scenario."""

from __future__ import annotations

from typing import Any

from core.cost.machine import Machine
from core.memory import num_gpu_blocks
from core.scenario import Request, Scenario
from core.schedulers import schedulers
from core.workloads.requests import to_requests
from core.workloads.workload import Workload

BLOCK_SIZE = 16
"""vLLM's default."""
MAX_STEPS = 10_000_000
"""No run is let go on for longer."""


def to_scenario(workload: Workload, name: str = "imported", scheduler: str = "vllm_v1",
                knobs: dict[str, Any] | None = None, seconds_per_step: float | None = None,
                machine: Machine | None = None) -> Scenario:
    """The workload's requests with an engine: the knobs that vLLM would start with on the machine.

    Args:
        knobs: Values for knobs of the engine, in place of those.
        seconds_per_step: For a run that counts steps; None runs on the machine's seconds.

    Raises:
        ScenarioError: if the workload cannot become requests, or a knob is refused.
    """
    machine = machine or Machine()
    requests = to_requests(workload, seconds_per_step)
    in_seconds = any(request.arrival_s is not None for request in requests)
    return Scenario.parse({
        "name": name, "scheduler": scheduler, "requests": requests,
        "max_steps": _step_limit(requests),
        "config": {**starting_knobs(requests, scheduler, machine), **(knobs or {})},
        "clock": "seconds" if in_seconds else "step",
        "machine": machine,
    })


def _step_limit(requests: tuple[Request, ...]) -> int:
    """Steps that no run needs which gets on: in each somebody gets a token, or it waits for an
    arrival. Doubled for what is computed again; one that runs in circles is cut off there."""
    tokens = sum(r.output_len + r.prompt_len // 64 + 1 for r in requests)
    last = max((r.arrival_step for r in requests), default=0)
    return min(MAX_STEPS, 10_000 + last + 2 * tokens)


def starting_knobs(requests: tuple[Request, ...], scheduler: str,
                   machine: Machine) -> dict[str, Any]:
    """Knobs as vLLM's server has them on this machine, and a model length that holds everybody.

    The budgets are those of vLLM 0.33 on GPUs below 70 GiB. A scheduler that computes prompts in
    one piece gets a token budget that holds the longest. There is one block if the model itself
    does not fit.
    """
    longest = max(request.prompt_len + request.output_len for request in requests) + 1
    known = schedulers().get(scheduler)
    in_chunks = known is not None and "enable_chunked_prefill" in known.knobs
    tokens = 2048 if in_chunks else max(2048, longest)
    return {
        "block_size": BLOCK_SIZE,
        "num_gpu_blocks": max(1, num_gpu_blocks(
            machine, BLOCK_SIZE, max_num_batched_tokens=tokens).num_gpu_blocks),
        "max_num_seqs": 256,
        "max_num_batched_tokens": tokens,
        "max_model_len": longest,
        "enable_chunked_prefill": in_chunks,
        "enable_prefix_caching": any(r.prefix_id or r.prefix_hashes for r in requests),
    }


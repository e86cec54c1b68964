"""Random small scenarios for hypothesis: every scheduler, knobs that bind, a few requests."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from core import Scenario
from core.schedulers import schedulers

KNOBS: dict[str, st.SearchStrategy[Any]] = {
    "block_size": st.sampled_from([1, 2, 4, 16]),
    "num_gpu_blocks": st.integers(2, 14),
    "num_cpu_blocks": st.integers(0, 12),
    "max_num_batched_tokens": st.integers(4, 40),
    "max_num_seqs": st.integers(1, 6),
    "max_model_len": st.integers(4, 40),
    "preemption_mode": st.sampled_from(["swap", "recompute", None]),
    "policy": st.sampled_from(["fcfs", "priority", "length"]),
    "enable_chunked_prefill": st.booleans(),
    "enable_prefix_caching": st.booleans(),
    "watermark": st.sampled_from([0.0, 0.01, 0.2]),
    "delay_factor": st.sampled_from([0.0, 0.5]),
    "bypass_config_checks": st.booleans(),
    "max_num_scheduled_tokens": st.none() | st.integers(4, 20),
    "max_num_active_seqs": st.none() | st.integers(1, 4),
    "long_prefill_token_threshold": st.sampled_from([0, 3]),
    "long_prefill_token_threshold_adaptive": st.booleans(),
    "scheduler_reserve_full_isl": st.booleans(),
    "prefill_schedule_interval": st.sampled_from([1, 3]),
    "batch_group_size": st.integers(1, 4),
    "compress_swapped": st.booleans(),
    "compression_ratio": st.sampled_from([1.2, 2.0, 5.0]),
    "compression_min_blocks": st.integers(0, 4),
}
"""For each knob the values that make a difference to a few short requests."""


TIMES = ("steps", "steps on a machine", "seconds")
"""The clock, and the unit of the arrivals."""


@st.composite
def requests(draw: st.DrawFn, in_seconds: bool) -> list[dict[str, Any]]:
    """One to eight short requests, some with priorities, some that share the first blocks."""
    drawn = []
    for number in range(draw(st.integers(1, 8))):
        request: dict[str, Any] = {
            "request_id": f"r{number}",
            "prompt_len": draw(st.integers(1, 24)),
            "output_len": draw(st.integers(1, 16)),
            "priority": draw(st.integers(-1, 2)),
        }
        arrival = draw(st.integers(0, 12))
        request |= {"arrival_s": arrival / 50} if in_seconds else {"arrival_step": arrival}
        match draw(st.sampled_from(["alone", "prefix", "hashes"])):
            case "prefix":
                request |= {"prefix_id": draw(st.sampled_from("pq")),
                            "prefix_len": draw(st.integers(0, 16))}
            case "hashes":
                count = draw(st.integers(1, -(-request["prompt_len"] // 4)))
                request |= {"prefix_hashes": list(range(count)), "prefix_hash_block": 4}
        drawn.append(request)
    return drawn


@st.composite
def scenarios(draw: st.DrawFn, scheduler: str | None = None) -> Scenario:
    """A scenario that its scheduler takes; of any scheduler, or of the named one.

    A drawn knob that the scheduler refuses is put back to its default, one after the other, so
    that hardly any draw is thrown away.
    """
    name = scheduler or draw(st.sampled_from(list(schedulers())))
    config = {knob: draw(values) for knob, values in KNOBS.items()}
    time = draw(st.sampled_from(TIMES))
    data = {"name": "drawn", "scheduler": name, "config": config, "max_steps": 400,
            "requests": draw(requests(in_seconds=time == "seconds"))}
    if time != "steps":
        data |= {"clock": "seconds", "machine": {}}
    for _ in KNOBS:
        scenario = Scenario.parse(data)
        faults = schedulers()[name].config_faults(scenario.config)
        refused = [fault.field for fault in faults if fault.field in config]
        if not refused:
            break
        del config[refused[0]]
    assume(not faults)
    return scenario

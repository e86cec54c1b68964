"""Measured runs from uploaded files, and a made-up one in the same form; each simulated once."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import streamlit as st

from core.cost.machine import Machine
from core.faults import Fault, ScenarioError
from core.measured import MeasuredRun, measured_machine, measured_scenario, read_measured
from core.scenario import Scenario
from core.simulator import simulate
from core.trace import Trace
from core.workloads import Lengths, Recipe, generate, to_requests

NAMES = ("requests.jsonl", "timeseries.csv", "meta.json")
MOST_REQUESTS = 5_000
MADE_UP_EFFICIENCY = 0.75
MADE_UP_MACHINE = Machine(gpu="RTX 4090", model="Llama-3-8B",
                          compute_efficiency=MADE_UP_EFFICIENCY,
                          memory_efficiency=MADE_UP_EFFICIENCY)
Files = tuple[tuple[str, bytes], ...]


class Held(NamedTuple):
    """A measured run held against the simulator."""

    run: MeasuredRun
    trace: Trace
    machine: Machine
    tick_s: float
    """How often the server reported."""


@st.cache_resource(max_entries=16, show_spinner="Scheduling the same requests ...")
def hold(files: Files, gpu: str | None, efficiency: float | None) -> Held:
    """Read the files and simulate their requests. Shared between sessions: never changed.

    Args:
        gpu: instead of the GPU that the files name.
        efficiency: instead of the GPU's fitted ones, for compute and memory.

    Raises:
        ScenarioError: with what is missing or cannot be read.
    """
    try:
        run = _read(files)
        machine = measured_machine(run, gpu)
        if efficiency is not None:
            machine = machine.model_copy(update={"compute_efficiency": efficiency,
                                                 "memory_efficiency": efficiency})
        scenario = measured_scenario(run, machine)
    except ScenarioError:
        raise
    except (ValueError, TypeError, OverflowError) as error:  # other people's files hold anything
        raise ScenarioError([Fault("files", str(error)[:200], "must hold plain numbers and text"
                                   )]) from None
    tick = run.meta.get("tick_seconds")
    return Held(run, simulate(scenario), machine,
                float(tick) if isinstance(tick, (int, float)) and tick > 0 else 1.0)


def _read(files: Files) -> MeasuredRun:
    """The run that the files hold; those of other names are not looked at."""
    given = {name: content for name, content in files if name in NAMES}
    if missing := [name for name in NAMES if name not in given]:
        raise ScenarioError(Fault(name, "missing", "must be among the files") for name in missing)
    with TemporaryDirectory() as folder:
        place = Path(folder, "uploaded")
        place.mkdir()
        for name, content in given.items():
            (place / name).write_bytes(content)
        run = read_measured(place)
    if len(run.requests) > MOST_REQUESTS:
        raise ScenarioError([Fault("requests.jsonl", f"{len(run.requests):,} requests",
                                   f"must hold at most {MOST_REQUESTS:,} here; the command line"
                                   " (`python -m core measured DIR`) has no limit")])
    return run


@st.cache_data(show_spinner=False)
def made_up() -> Files:
    """Files in the form of a measured run, computed by this simulator with a slower GPU."""
    recipe = Recipe(count=120, seed=5, arrivals="poisson", rate=8.0,
                    prompt=Lengths(typical=500, spread=0.8, high=3000),
                    output=Lengths(typical=220, spread=0.5, high=900))
    meta: dict[str, Any] = {
        "model": "meta-llama/Llama-3.1-8B", "tick_seconds": 1.0,
        "engine_kwargs": {"max_num_seqs": 256, "max_num_batched_tokens": 2048,
                          "max_model_len": 8192, "tensor_parallel_size": 1},
        "kv_cache": {"num_gpu_blocks": 2588, "block_size": 16, "enable_prefix_caching": True},
        "hardware": {"device_name": "NVIDIA GeForce RTX 4090"}}
    config = {**{k: v for k, v in meta["engine_kwargs"].items() if k != "tensor_parallel_size"},
              **meta["kv_cache"], "enable_chunked_prefill": True}
    trace = simulate(Scenario.parse({
        "name": "made up", "scheduler": "vllm_v1", "clock": "seconds", "machine": MADE_UP_MACHINE,
        "config": config, "requests": to_requests(generate(recipe))}))
    return as_files(trace, meta)


def as_files(trace: Trace, meta: dict[str, Any]) -> Files:
    """A simulated run in the form of a measured one."""
    lines = [json.dumps({
        "request_id": asked.request_id, "input_toks": asked.prompt_len,
        "output_toks": asked.output_len, "queued_ts": asked.arrival_s or 0.0,
        "first_token_ts": trace.end_s(row.first_token_step or 0),
        "last_token_ts": trace.end_s(row.end_step or 0)})
        for asked, row in zip(trace.scenario.requests, trace.request_rows, strict=True)]
    ticks, step = ["t,running,waiting"], 0
    for second in range(1, int(trace.end_s(trace.num_steps)) + 1):
        while step + 1 < trace.num_steps and trace.start_s(step + 1) <= second:
            step += 1
        row = trace.step_rows[step]
        ticks.append(f"{second}.0,{row.num_running},{row.num_waiting}")
    content = ("\n".join(lines), "\n".join(ticks), json.dumps(meta))
    return tuple((name, text.encode()) for name, text in zip(NAMES, content, strict=True))

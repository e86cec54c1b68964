"""Measured runs of a real server, held against the simulator's clock in seconds.

A folder holds ``requests.jsonl`` (a request per line: input_toks, output_toks, and in seconds
queued_ts, first_token_ts, last_token_ts), ``timeseries.csv`` (running, waiting per second) and
``meta.json`` (model, GPU and engine arguments), as LLMServingSim publishes them. The requests are
scheduled by ``vllm_v1`` on the same machine, prompts taken as unique.

Two parameters of each GPU (its efficiencies) are fitted to such a run. Without, expect 15 to 25 %.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from core.cost.gpus import GPUS
from core.cost.machine import Machine
from core.faults import Fault, ScenarioError, faults_of
from core.memory import num_gpu_blocks
from core.scenario import Scenario

MODEL_IDS = {
    "meta-llama/Llama-3.1-8B": "Llama-3-8B", "meta-llama/Llama-3.1-70B": "Llama-3-70B",
    "meta-llama/Meta-Llama-3-8B": "Llama-3-8B", "meta-llama/Meta-Llama-3-70B": "Llama-3-70B",
    "meta-llama/Llama-2-7b-hf": "Llama-2-7B", "meta-llama/Llama-2-13b-hf": "Llama-2-13B",
    "meta-llama/Llama-2-70b-hf": "Llama-2-70B", "mistralai/Mistral-7B-v0.1": "Mistral-7B",
    "mistralai/Mixtral-8x7B-v0.1": "Mixtral-8x7B", "Qwen/Qwen2.5-7B": "Qwen2.5-7B",
    "Qwen/Qwen2.5-32B": "Qwen2.5-32B", "facebook/opt-13b": "OPT-13B",
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0": "TinyLlama-1.1B",
}
"""Shapes by the names under which the models are published."""
LONGEST = 131_072
"""max_model_len where none is given: that of Llama 3.1."""


class MeasuredRequest(NamedTuple):
    """One request of a measured run; seconds from the first arrival."""

    request_id: str
    prompt_len: int
    output_len: int
    arrival_s: float
    first_token_s: float
    last_token_s: float


class Tick(NamedTuple):
    """What the server reported in one second."""

    num_running: int
    num_waiting: int


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A measured run, in the order of its file."""

    name: str
    requests: tuple[MeasuredRequest, ...]
    ticks: tuple[Tick, ...]
    meta: dict[str, Any]


def read_measured(folder: Path) -> MeasuredRun:
    """A measured run from its folder.

    Raises:
        ScenarioError: with what is missing or cannot be read, by file and line.
    """
    for name in ("requests.jsonl", "timeseries.csv", "meta.json"):
        if not (folder / name).is_file():
            raise ScenarioError([Fault(name, str(folder), "the folder must hold this file")])
    try:
        meta = json.loads((folder / "meta.json").read_text("utf-8"))
        if not isinstance(meta, dict):
            raise ValueError("must be an object")
    except ValueError as error:
        raise ScenarioError([Fault("meta.json", str(folder), str(error))]) from None
    return MeasuredRun(folder.name, _requests(folder / "requests.jsonl"),
                       _ticks(folder / "timeseries.csv"), meta)


def measured_scenario(run: MeasuredRun, machine: Machine | None = None) -> Scenario:
    """The measured run as a scenario of ``vllm_v1`` with the clock in seconds.

    Args:
        machine: what to run it on; by default the machine that the run names, with the
            efficiencies of its GPU.

    Raises:
        ScenarioError: if the run names no machine that is known, or is not a valid scenario.
    """
    machine = machine or measured_machine(run)
    engine, cache = _part(run, "engine_kwargs"), _part(run, "kv_cache")
    block_size = cache.get("block_size") or 16
    tokens = engine.get("max_num_batched_tokens") or 2048
    seqs = engine.get("max_num_seqs") or 256
    blocks = cache.get("num_gpu_blocks") or num_gpu_blocks(
        machine, block_size, gpu_memory_utilization=cache.get("gpu_memory_utilization") or 0.9,
        max_num_batched_tokens=tokens, max_num_seqs=seqs).num_gpu_blocks
    return Scenario.parse({
        "name": run.name[:120], "scheduler": "vllm_v1", "clock": "seconds", "machine": machine,
        "max_steps": 10_000_000,
        "config": {
            "block_size": block_size, "num_gpu_blocks": blocks, "max_num_seqs": seqs,
            "max_num_batched_tokens": tokens, "enable_chunked_prefill": True,
            "max_model_len": engine.get("max_model_len") or LONGEST,
            "enable_prefix_caching": cache.get("enable_prefix_caching", True),
        },
        "requests": [
            {"request_id": r.request_id, "arrival_s": r.arrival_s, "prompt_len": r.prompt_len,
             "output_len": r.output_len} for r in run.requests
        ],
    })


def measured_machine(run: MeasuredRun, gpu: str | None = None) -> Machine:
    """The machine that a run was measured on.

    Args:
        gpu: name of an entry of GPUS; by default the one that meta.json or the folder names.

    Raises:
        ScenarioError: if its GPU or its model is not known.
    """
    model = str(run.meta.get("model"))
    device = str(_part(run, "hardware").get("device_name") or run.name)
    gpu = gpu or _named_gpu(device)
    faults = []
    if gpu not in GPUS:
        faults.append(Fault("gpu", gpu or device, f"must be one of {', '.join(GPUS)}"))
    if model not in MODEL_IDS:
        faults.append(Fault("model", model, f"must be one of {', '.join(MODEL_IDS)}"))
    if faults:
        raise ScenarioError(faults)
    parallel = _part(run, "engine_kwargs").get("tensor_parallel_size") or 1
    try:
        return Machine(gpu=str(gpu), model=MODEL_IDS[model], tensor_parallel=parallel)
    except ValidationError as error:
        raise ScenarioError(faults_of(error)) from None


def _part(run: MeasuredRun, key: str) -> dict[str, Any]:
    """A part of meta.json; empty if there is none."""
    part = run.meta.get(key)
    return part if isinstance(part, dict) else {}


def _named_gpu(text: str) -> str | None:
    """The GPU whose name stands in the text: as whole words, whatever is between them."""
    for name in GPUS:
        words = ".*?".join(map(re.escape, re.split("[ -]", name)))
        if re.search(rf"\b{words}b?\b", text, re.IGNORECASE):  # 80G is written 80GB too
            return name
    return None


def _requests(path: Path) -> tuple[MeasuredRequest, ...]:
    rows: list[dict[str, Any]] = []
    keys = ("input_toks", "output_toks", "queued_ts", "first_token_ts", "last_token_ts")
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            rows.append({"id": str(row.get("request_id", number)),
                         **{key: float(row[key]) for key in keys}})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            rule = f"must be a JSON object with the numbers {', '.join(keys)}"
            raise ScenarioError([Fault(f"{path.name} line {number}", line, rule)]) from error
    if not rows:
        raise ScenarioError([Fault(path.name, "", "must hold at least one request")])
    start = min(row["queued_ts"] for row in rows)
    return tuple(
        MeasuredRequest(row["id"], int(row["input_toks"]), int(row["output_toks"]),
                        *(row[key] - start for key in keys[2:]))
        for row in rows
    )


def _ticks(path: Path) -> tuple[Tick, ...]:
    with path.open(encoding="utf-8", newline="") as file:
        try:
            return tuple(Tick(int(row["running"]), int(row["waiting"]))
                         for row in csv.DictReader(file))
        except (KeyError, ValueError, TypeError) as error:
            rule = "must be CSV with the columns running and waiting, in whole numbers"
            raise ScenarioError([Fault(path.name, str(error), rule)]) from error

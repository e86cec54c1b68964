"""The cases of tests/cases: small scenarios from public reports, and what the real engine did.

Each case has a scenario (``config``, ``requests``), perhaps ``variants`` that replace parts of it,
and under ``reference_result`` a digest of the real scheduler's run for the base and each variant.
Here are the list of these runs, and the same digest of a run of ours.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from core import ScenarioError, simulate
from core.recorded import recorded_trace, scenario_from_recorded

CASES = Path(__file__).parents[1] / "cases"

Digest = dict[str, Any]


class CaseRun(NamedTuple):
    """One run of a case."""

    name: str
    """The case's name and the variant's, or ``base``."""
    engine: str
    """``v0`` or ``v1``."""
    scenario: dict[str, Any]
    """In the form of the recordings."""
    expected: Digest


def case_runs(engine: str) -> list[CaseRun]:
    """The base and all variants of every case for this engine."""
    runs = []
    for path in sorted(CASES.glob("*.json")):
        case = json.loads(path.read_text("utf-8"))
        if case["engine"] != engine:
            continue
        for variant in [{"name": "base", "config": {}}, *case.get("variants", [])]:
            scenario = {
                "name": case["name"],
                "config": {**case["config"], **variant["config"]},
                "requests": variant.get("requests", case["requests"]),
            }
            if "max_steps" in case:
                scenario["max_steps"] = case["max_steps"]
            expected = dict(case["reference_result"][variant["name"]])
            expected["aborted"] = _error_kind(expected["aborted"])
            expected["preemptions"] = sorted(expected["preemptions"])
            runs.append(CaseRun(f"{path.stem}:{variant['name']}", engine, scenario, expected))
    return runs


def digest_of_ours(run: CaseRun) -> Digest:
    """The digest of our scheduler's run; knobs that it refuses give an empty run."""
    try:
        trace = simulate(scenario_from_recorded(run.scenario, run.engine))
    except ScenarioError:
        return digest({**run.scenario, "steps": [], "aborted": "config"})
    return digest({**recorded_trace(trace), **run.scenario})


def digest(run: dict[str, Any]) -> Digest:
    """The digest of a run.

    Args:
        run: ``steps``, ``aborted`` and perhaps ``stuck`` of a recorded trace, along with the
            ``config`` and ``requests`` of its scenario.
    """
    steps = run["steps"]
    tokens = token_steps(run)
    admissions = [(s["step"], name) for s in steps for name in s["admitted"]]
    first_admitted: dict[str, int] = {}
    for step, name in admissions:
        first_admitted.setdefault(name, step)
    found: Digest = {
        "total_steps": len(steps),
        "aborted": _error_kind(run["aborted"]),
        "empty_steps": sum(not (s["scheduled"] or s["ignored"]) for s in steps),
        "scheduled_tokens_total": sum(n for s in steps for _, n in s["scheduled"]),
        "output_tokens_total": sum(map(len, tokens.values())),
        "preemptions": sorted(
            [s["step"], name, "swap" if name in s["swapped"] else "recompute"] for s in steps
            for name in s["preempted_recompute"] + s["swapped_out"]),
        "swapped_in": [[s["step"], name] for s in steps for name in s["swapped_in"]],
        "ignored": [[s["step"], name] for s in steps for name in s["ignored"]],
        "first_admitted_step": first_admitted,
        "readmitted": [[at, name] for at, name in admissions if at != first_admitted[name]],
        "first_token_step": {name: at[0] for name, at in tokens.items() if at},
        "finished_step": {name: s["step"] for s in steps for name in s["finished"]},
        "max_gap_steps": {name: max(b - a for a, b in pairwise(at))
                          for name, at in tokens.items() if len(at) > 1},
        "max_waiting": max((len(s["waiting"]) for s in steps), default=0),
        "max_running": max((len(s["running"]) for s in steps), default=0),
        "max_swapped": max((len(s["swapped"]) for s in steps), default=0),
        "min_free_gpu_blocks": min((s["free_gpu_blocks"] for s in steps), default=None),
        "min_free_cpu_blocks": min((s["free_cpu_blocks"] for s in steps), default=None),
        "max_batched_tokens": max((s["num_batched_tokens"] for s in steps), default=0),
    }
    if run["config"]["enable_prefix_caching"]:
        cached: dict[str, list[list[int]]] = {}
        for s in steps:
            for name in s["admitted"]:
                cached.setdefault(name, []).append([s["step"], s["cached_tokens"].get(name, 0)])
        found["cached_tokens"] = cached
    if run.get("stuck"):
        found["stuck"] = True
    return found


def token_steps(run: dict[str, Any]) -> dict[str, list[int]]:
    """For each request the steps in which it got a token: those in which it caught up."""
    behind = {r["request_id"]: r["prompt_len"] for r in run["requests"]}
    generated: dict[str, list[int]] = {name: [] for name in behind}
    prompt_len = dict(behind)
    in_v0 = "final" in run
    for step in run["steps"]:
        for name in step["preempted_recompute"]:
            behind[name] = prompt_len[name] + len(generated[name])
        if not in_v0:  # V0's scheduled tokens hold the cached ones already
            for name, cached in step.get("cached_tokens", {}).items():
                behind[name] -= cached
        for name, num_tokens in step["scheduled"]:
            behind[name] -= num_tokens
            if behind[name] == 0:
                generated[name].append(step["step"])
                behind[name] = 1
    return generated


def _error_kind(text: str | None) -> str | None:
    """The exception's type; its text may be the real engine's own."""
    return None if text is None else text.split(":")[0]

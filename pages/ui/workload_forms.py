"""The forms of the page with requests of one's own: slice, generator, table."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.scenario import Scenario
from core.workloads import Lengths, Recipe, Slice, Workload, generate

COLUMNS = ("request_id", "arrival_step", "arrival_s", "prompt_len", "output_len", "priority",
           "prefix_id", "prefix_len")


def slice_form(workload: Workload) -> Slice | None:
    """Which part of a workload to take, and at which scale."""
    span = workload.summary.span
    with st.expander("Take a part, change the scale", expanded=len(workload.rows) > 2_000):
        left, middle, right = st.columns(3)
        count = len(workload.rows)
        first = left.number_input("First so many requests", 1, count, min(count, 1_000),
                                  key=f"slice_first_{count}")
        start, end = 0.0, None
        if span:
            start, end = middle.slider("Time window", 0.0, float(span), (0.0, float(span)),
                                       key="slice_window")
            end = None if end >= span else max(end, start + 1e-6)
        rate = None
        if workload.time_unit is None:
            rate = middle.number_input("Arrivals per second (Poisson)", 0.01, 10_000.0, 5.0,
                                       key="slice_rate")
        seed = right.number_input("Seed", 0, 1_000_000, 0, key="slice_seed")
        factor = left.number_input("Arrivals faster by", 0.01, 100.0, 1.0, key="slice_faster")
        prompts = middle.number_input("Prompts longer by", 0.01, 100.0, 1.0, key="slice_prompts")
        outputs = right.number_input("Outputs longer by", 0.01, 100.0, 1.0, key="slice_outputs")
        cap = left.number_input("Cut prompts to (0: not)", 0, 1_000_000, 0, key="slice_cap")
    return Slice(rate=rate, seed=int(seed), start=start, end=end, first=int(first),
                 rate_factor=factor, prompt_factor=prompts, output_factor=outputs,
                 max_prompt_len=int(cap) or None)


def seconds_per_step() -> float:
    """For a run that counts steps: how long a step is taken to last."""
    return st.number_input(
        "Seconds per step", 0.001, 100.0, 0.03, step=0.005, format="%.3f", key="slice_step_s",
        help="The clock counts steps, the arrivals are in seconds. Choose the clock in seconds in"
             " the sidebar to let a machine decide.")


def generator_form() -> Workload:
    """A seeded recipe."""
    left, middle, right = st.columns(3)
    kind = left.selectbox("Arrivals", ["poisson", "gamma", "burst", "uniform", "closed_loop"],
                          key="recipe_arrivals")
    count = left.number_input("Requests", 1, 20_000, 60, key="recipe_count")
    rate = middle.number_input("Per second", 0.01, 10_000.0, 5.0, key="recipe_rate")
    seed = middle.number_input("Seed", 0, 1_000_000, 0, key="recipe_seed")
    extra: dict[str, Any] = {}
    if kind == "gamma":
        extra["cv"] = right.number_input("Burstiness (CV of the gaps)", 0.1, 20.0, 2.0,
                                         key="recipe_cv")
    if kind == "burst":
        extra["burst_size"] = right.number_input("Requests in a burst", 1, 1_000, 10,
                                                 key="recipe_burst")
    if kind == "closed_loop":
        extra["clients"] = right.number_input("Clients", 1, 1_000, 8, key="recipe_clients")
    prompt = _lengths("Prompt", 256, left)
    output = _lengths("Output", 128, middle)
    system = right.number_input("Shared system prompt, tokens", 0, 100_000, 0,
                                key="recipe_system")
    turns = right.number_input("Turns of a conversation", 1, 50, 1, key="recipe_turns")
    return generate(Recipe(count=int(count), seed=int(seed), arrivals=kind, rate=rate,
                           prompt=prompt, output=output, system_prompt_len=int(system),
                           turns=int(turns), **extra))


def _lengths(what: str, typical: int, column: Any) -> Lengths:
    kind = column.selectbox(f"{what} lengths", ["lognormal", "fixed", "uniform"],
                            key=f"recipe_{what}_kind")
    if kind == "uniform":
        low, high = column.slider(f"{what} tokens", 1, 8_192, (typical // 4, typical * 2),
                                  key=f"recipe_{what}_range")
        return Lengths(kind="uniform", low=low, high=high, typical=typical)
    middle = column.number_input(f"{what} tokens", 1, 100_000, typical, key=f"recipe_{what}_len")
    return Lengths(kind=kind, typical=int(middle), high=max(4_096, int(middle) * 8))


def request_table(scenario: Scenario) -> pd.DataFrame:
    """The requests of a scenario, to be edited."""
    rows = [{name: getattr(r, name) for name in COLUMNS} for r in scenario.requests]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    unused = "arrival_step" if scenario.arrives_in_seconds else "arrival_s"
    return st.data_editor(frame.drop(columns=unused), num_rows="dynamic", hide_index=True,
                          key=f"requests_table_{scenario.name}", height=420)


def scenario_of_table(data: dict[str, Any], table: pd.DataFrame) -> Scenario:
    """The scenario with the table's requests.

    Raises:
        ScenarioError: with every fault of the table.
    """
    rows = []
    for record in table.to_dict("records"):
        rows.append({name: _plain(value) for name, value in record.items()
                     if value is not None and not pd.isna(value)})
    return Scenario.parse({**data, "name": data.get("name", "typed"), "requests": rows})


def _plain(value: Any) -> Any:
    """Python's own number for numpy's; a whole one as int."""
    value = getattr(value, "item", lambda: value)()
    return int(value) if isinstance(value, float) and value.is_integer() else value

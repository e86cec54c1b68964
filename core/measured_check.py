"""How far a simulated run is from the measured one: overall, and request by request."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from core.measured import MeasuredRun
from core.metrics import metrics
from core.trace import Trace

DURATIONS = ("ttft_s", "tpot_s", "e2el_s")
STATISTICS = ("mean", "median", "p99")


class Comparison(NamedTuple):
    """One figure, measured and simulated."""

    key: str
    """``ttft_s``, ``tpot_s``, ``e2el_s``, ``duration_s``, ``num_running``, ``num_waiting``."""
    statistic: str
    """mean, median, p99, total, or peak."""
    measured: float
    simulated: float

    @property
    def difference(self) -> float:
        """Simulated beyond measured, as a share of it."""
        return self.simulated / self.measured - 1 if self.measured else float("nan")


def per_request(run: MeasuredRun, trace: Trace) -> pd.DataFrame:
    """One row per request: its lengths, and each duration measured and simulated."""
    frame = pd.DataFrame.from_records(run.requests, columns=list(run.requests[0]._fields))
    frame["ttft_s"] = frame["first_token_s"] - frame["arrival_s"]
    between = (frame["output_len"] - 1).where(frame["output_len"] > 1)
    frame["tpot_s"] = (frame["last_token_s"] - frame["first_token_s"]) / between
    frame["e2el_s"] = frame["last_token_s"] - frame["arrival_s"]
    ours = metrics(trace).requests
    for key in DURATIONS:
        frame[f"simulated_{key}"] = ours[key]
    return frame.drop(columns=["first_token_s", "last_token_s"])


def compare_measured(run: MeasuredRun, trace: Trace) -> list[Comparison]:
    """The figures of a run, measured and simulated."""
    requests = per_request(run, trace)
    rows = []
    for key in DURATIONS:
        both = requests[key], requests[f"simulated_{key}"]
        rows += [Comparison(key, statistic, *(_statistic(each, statistic) for each in both))
                 for statistic in STATISTICS]
    ends = [request.last_token_s for request in run.requests]
    rows.append(Comparison("duration_s", "total", max(ends), trace.end_s(trace.num_steps)))
    if run.ticks:
        steps = trace.step_rows
        rows.append(Comparison("num_running", "peak", max(t.num_running for t in run.ticks),
                               max(row.num_running for row in steps)))
        rows.append(Comparison("num_waiting", "peak", max(t.num_waiting for t in run.ticks),
                               max(row.num_waiting for row in steps)))
    return rows


def _statistic(values: pd.Series, statistic: str) -> float:
    known = values.dropna().to_numpy()
    if statistic == "mean":
        return float(np.mean(known))
    return float(np.percentile(known, 50 if statistic == "median" else 99))

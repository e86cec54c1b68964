"""From a Workload to the requests of a Scenario."""

from __future__ import annotations

import math

from pydantic import ValidationError

from core.faults import Fault, faults_of
from core.scenario import Request
from core.workloads.records import MAX_FAULTS, WorkloadError
from core.workloads.workload import Workload, WorkloadRow

LATEST = 10_000_000
"""Last step, or second, in which a Request can arrive."""


def to_requests(workload: Workload, seconds_per_step: float | None = None) -> tuple[Request, ...]:
    """One Request for each row, in the order of the rows. Without an arrival it comes at once.

    Args:
        seconds_per_step: For the clock in steps: how long a step is taken to last. A row then
            arrives at step ``floor(arrival_s / seconds_per_step)``. None leaves seconds as they
            are, for the clock in seconds.

    Raises:
        WorkloadError: if there is no row, if arrivals are later than a Request's may be, or
            with the first few rows that are none which a Request can be.
    """
    if not workload.rows:
        raise WorkloadError([Fault("rows", 0, "at least one row must be taken")])
    if seconds_per_step is not None and not 0 < seconds_per_step < math.inf:
        raise WorkloadError([Fault("seconds_per_step", seconds_per_step, "must be above 0")])
    times = [_arrival(row, seconds_per_step) for row in workload.rows]
    latest = max(max(seconds or 0, step) for seconds, step in times)
    if latest > LATEST:
        rule = (f"the last arrival must be at {LATEST:,} at most: take less time, or more seconds"
                " per step")
        raise WorkloadError([Fault("arrival", latest, rule)])
    requests, faults = [], []
    for row, time in zip(workload.rows, times, strict=True):
        try:
            requests.append(_request(row, *time))
        except ValidationError as error:
            faults += [fault._replace(field=f"{row.request_id}: {fault.field}")
                       for fault in faults_of(error)]
    if faults:
        raise WorkloadError(faults[:MAX_FAULTS])
    return tuple(requests)


def _arrival(row: WorkloadRow, seconds_per_step: float | None) -> tuple[float | None, int]:
    """A Request's arrival_s and arrival_step."""
    if row.arrival_s is None:
        return None, row.arrival_step or 0
    if seconds_per_step is None:
        return row.arrival_s, 0
    # 0.3 / 0.1 is a hair below 3: what lies on the edge of a step belongs to the step
    return None, math.floor(row.arrival_s / seconds_per_step + 1e-9)


def _request(row: WorkloadRow, arrival_s: float | None, arrival_step: int) -> Request:
    return Request(
        request_id=row.request_id, arrival_step=arrival_step, arrival_s=arrival_s,
        prompt_len=row.prompt_len, output_len=row.output_len, priority=row.priority,
        prefix_id=row.prefix_id, prefix_len=row.prefix_len, prefix_hashes=row.prefix_hashes,
        prefix_hash_block=row.prefix_hash_block,
    )

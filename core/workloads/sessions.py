"""Calls that wait for others: laid out in time with an estimated duration.

A call of a session is sent some time after the call before it has ended. When that is depends on
the run, and arrivals are fixed before a run starts. So the end is estimated, from the call's
lengths and a duration for each token, and the summary says that it was.
"""

from __future__ import annotations

from dataclasses import replace

from core.workloads.options import Options
from core.workloads.workload import Note, Workload, WorkloadRow


def estimated_s(row: WorkloadRow, options: Options) -> float:
    """Seconds that a call is taken to last: nothing waits, nothing else runs."""
    return (row.prompt_len * options.prefill_s_per_token
            + row.output_len * options.decode_s_per_token)


def lay_out_sessions(workload: Workload, options: Options,
                     note: str = "session_arrivals") -> Workload:
    """Give every row that has none, and waits for another, its estimated arrival.

    Rows come out in the order of their arrivals. A row whose predecessor is not there, or comes
    after it in the list, is taken to arrive at the workload's start. ``note`` is what the summary
    says about it.
    """
    waiting = [row for row in workload.rows if row.after is not None and row.arrival_s is None]
    if not waiting:
        return workload
    end: dict[str, float] = {}
    rows = []
    for row in workload.rows:
        if row.arrival_s is None and row.after is not None:
            row = replace(row, arrival_s=end.get(row.after, 0.0) + row.delay_s)
        end[row.request_id] = (row.arrival_s or 0.0) + estimated_s(row, options)
        rows.append(row)
    rows.sort(key=lambda row: row.arrival_s or 0.0)
    return workload.with_rows(
        rows, Note("guessed", note, len(waiting), options.decode_s_per_token)
    )

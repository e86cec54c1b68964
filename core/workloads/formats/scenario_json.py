"""A scenario of this project as JSON, or a recorded trace that holds one: its requests.

The knobs in it are not part of a workload and are passed over; who wants the whole scenario reads
it with ``Scenario.from_json``.
"""

from __future__ import annotations

from core.faults import Fault
from core.scenario import Scenario
from core.workloads import sniffing
from core.workloads.options import Options
from core.workloads.records import WorkloadError
from core.workloads.texts import json_value
from core.workloads.workload import Note, Workload, WorkloadRow

TITLE = "Scenario (JSON)"


def sniff(head: bytes) -> bool:
    """Whether it is a JSON object with requests that have prompts."""
    keys = sniffing.object_keys(head)
    return "requests" in keys and bool(keys & {"prompt_len", "prompt", "scheduler"})


def parse(data: bytes, options: Options) -> Workload:
    """The requests, with their steps or seconds, in their order."""
    document = json_value(data)
    if isinstance(document, dict) and isinstance(document.get("scenario"), dict):
        document = document["scenario"]
    if not isinstance(document, dict):
        raise WorkloadError([Fault("file", type(document).__name__, "must be a JSON object")])
    requests = Scenario.parse({"requests": document.get("requests", [])}).requests
    if not requests:
        raise WorkloadError([Fault("requests", "empty", "must have at least one request")])
    rows = tuple(
        WorkloadRow(r.request_id, r.prompt_len, r.output_len, r.arrival_s,
                    r.arrival_step if r.arrival_s is None else None, r.priority, r.prefix_id,
                    r.prefix_len, r.prefix_hashes, r.prefix_hash_block)
        for r in requests[: options.max_rows]
    )
    return Workload("scenario_json", TITLE, rows, (Note("skipped", "knobs", 0),))

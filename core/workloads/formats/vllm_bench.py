"""The result of ``vllm bench serve`` with its details per request.

A JSON object with the lists ``input_lens`` and ``output_lens`` (tokens), and in some versions
``start_times`` (seconds of a clock that starts anywhere). A file saved without
``--save-detailed`` has no lists. Failed requests have no output.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from core.faults import Fault
from core.workloads import sniffing
from core.workloads.assemble import Draft, assemble, nanoseconds
from core.workloads.options import Options
from core.workloads.records import Record, WorkloadError, collect
from core.workloads.texts import json_value
from core.workloads.workload import Workload

TITLE = "vllm bench serve result"
LISTS = ("input_lens", "output_lens")


def sniff(head: bytes) -> bool:
    """Whether it is a JSON object with a benchmark's totals, or its lists."""
    keys = sniffing.object_keys(head)
    return keys >= set(LISTS) or keys >= {"total_input_tokens", "request_throughput"}


def parse(data: bytes, options: Options) -> Workload:
    """Entries of the lists become requests; the rate of the benchmark is kept as a hint."""
    document = json_value(data)
    if not isinstance(document, dict):
        raise WorkloadError([Fault("file", type(document).__name__, "must be a JSON object")])
    drafts, notes = collect(_entries(document), _draft, options)
    rate: Any = document.get("request_rate")
    hint = float(rate) if type(rate) in (int, float) and 0 < rate < 1e6 else None
    return assemble(__name__, TITLE, drafts, options, notes, rebase=True, rate_hint=hint)


def _entries(document: dict[str, Any]) -> Iterator[Record]:
    """The i-th entries of the lists, as one record."""
    lists: dict[str, Any] = {name: document.get(name) for name in LISTS}
    if isinstance(document.get("start_times"), list):
        lists["start_times"] = document["start_times"]
    for name, values in lists.items():
        if not isinstance(values, list):
            rule = "must be a list with one entry for each request (vllm bench --save-detailed)"
            raise WorkloadError([Fault(name, values, rule)])
    for number, values in enumerate(zip_longest(*lists.values()), start=1):
        yield Record(number, number, dict(zip(lists, values, strict=True)))


def _draft(entry: Record) -> Draft:
    start_ns = None
    if "start_times" in entry.values:
        start_ns = nanoseconds(entry.decimal("start_times"))
    return Draft(entry.number, entry.whole("input_lens"), entry.whole("output_lens"), start_ns)

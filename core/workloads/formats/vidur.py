"""Processed traces of Vidur and Sarathi-Serve, with and without arrivals.

microsoft/vidur (MIT) and microsoft/sarathi-serve (Apache-2.0), data/processed_traces. Columns
num_prefill_tokens and num_decode_tokens, and either arrived_at (seconds from 0) or only lengths,
with their sum and ratio: then the arrivals are the user's to choose.
"""

from __future__ import annotations

from core.workloads import sniffing
from core.workloads.assemble import Draft, assemble, nanoseconds
from core.workloads.options import Options
from core.workloads.records import Record, collect
from core.workloads.texts import table
from core.workloads.workload import Workload

TITLE = "Vidur / Sarathi processed trace"
COLUMNS = ("num_prefill_tokens", "num_decode_tokens")


def sniff(head: bytes) -> bool:
    """Whether the table's columns are these."""
    return sniffing.columns(head) >= set(COLUMNS)


def parse(data: bytes, options: Options) -> Workload:
    """Rows become requests; without the column arrived_at they have no arrivals."""
    drafts, notes = collect(table(data, COLUMNS), _draft, options)
    return assemble(__name__, TITLE, drafts, options, notes)


def _draft(row: Record) -> Draft:
    timed = "arrived_at" in row.values
    return Draft(row.number, row.whole("num_prefill_tokens"), row.whole("num_decode_tokens"),
                 nanoseconds(row.decimal("arrived_at")) if timed else None)

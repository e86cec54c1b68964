"""BurstGPT, versions 1, 2 and 3.

HPMLL/BurstGPT, CC-BY 4.0; cite KDD 2025. One row per request: whole seconds from midnight of the
first day, model, prompt and output tokens, kind of log. Versions 2 and 3 add the session's id and
the seconds that the whole answer took. Zero output tokens mark a failed request.
"""

from __future__ import annotations

from core.workloads import sniffing
from core.workloads.assemble import Draft, assemble, nanoseconds
from core.workloads.options import Options
from core.workloads.records import Record, collect
from core.workloads.texts import table
from core.workloads.workload import Workload

TITLE = "BurstGPT"
COLUMNS = ("Timestamp", "Request tokens", "Response tokens")


def sniff(head: bytes) -> bool:
    """Whether the table's columns are these."""
    return sniffing.columns(head) >= set(COLUMNS)


def parse(data: bytes, options: Options) -> Workload:
    """Rows become requests, of both models and both kinds of log."""
    drafts, notes = collect(table(data, COLUMNS), _draft, options)
    return assemble(__name__, TITLE, drafts, options, notes, rebase=True)


def _draft(row: Record) -> Draft:
    return Draft(row.number, row.whole("Request tokens"), row.whole("Response tokens"),
                 nanoseconds(row.decimal("Timestamp")))

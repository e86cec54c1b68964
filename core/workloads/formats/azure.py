"""Azure LLM inference traces of 2023 and 2024 (and the multimodal one of 2025).

Azure/AzurePublicDataset, CC-BY 4.0; cite Splitwise (ISCA 2024) for 2023, DynamoLLM (HPCA 2025)
for 2024. One row per request: wall-clock time, prompt tokens, output tokens. 2023 writes seven
digits of a second (ticks of 100 ns) and no zone; 2024 writes six and a zone, and none at all
where the fraction is zero. The number of images (2025) is passed over.
"""

from __future__ import annotations

from datetime import UTC, datetime

from core.workloads import sniffing
from core.workloads.assemble import NANO, Draft, assemble
from core.workloads.options import Options
from core.workloads.records import Record, collect
from core.workloads.texts import table
from core.workloads.workload import Workload

TITLE = "Azure LLM inference trace"
COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def sniff(head: bytes) -> bool:
    """Whether the table's columns are these."""
    return sniffing.columns(head) >= set(COLUMNS)


def parse(data: bytes, options: Options) -> Workload:
    """Rows become requests; times are counted from the first."""
    drafts, notes = collect(table(data, COLUMNS), _draft, options)
    return assemble(__name__, TITLE, drafts, options, notes, rebase=True)


def _draft(row: Record) -> Draft:
    return Draft(row.number, row.whole("ContextTokens"), row.whole("GeneratedTokens"),
                 _nanoseconds(row, "TIMESTAMP"))


def _nanoseconds(row: Record, name: str) -> int:
    """A wall-clock time with any number of digits; without a zone it is taken as UTC."""
    text = str(row.values[name])
    try:
        whole, dot, rest = text.partition(".")
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        zone = rest[len(digits) :]
        if dot and not digits:
            raise ValueError("no digits after the point")
        time = datetime.fromisoformat(whole + zone)
    except ValueError:
        raise row.wrong(name, "must be a time such as 2023-11-16 18:15:46.6805900 or"
                              " 2024-05-10 00:00:02+00:00") from None
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH
    return (since.days * 86_400 + since.seconds) * NANO + int(digits[:9].ljust(9, "0"))

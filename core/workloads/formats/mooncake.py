"""Mooncake traces: arrivals, lengths and the ids of the prompt's prefix blocks.

kvcache-ai/Mooncake, FAST25-release/traces, Apache-2.0. One JSON object on each line: ``timestamp``
(milliseconds from the start), ``input_length``, ``output_length``, ``hash_ids``: one id for each
block of 512 prompt tokens, the partial last one included. Equal ids stand for equal prefixes.
"""

from __future__ import annotations

from core.workloads import sniffing
from core.workloads.assemble import NANO, Draft, assemble
from core.workloads.options import Options
from core.workloads.records import Record, collect
from core.workloads.texts import json_lines
from core.workloads.workload import Workload

TITLE = "Mooncake"
KEYS = {"timestamp", "input_length", "output_length", "hash_ids"}
HASH_BLOCK = 512
"""Tokens for which an id stands."""


def sniff(head: bytes) -> bool:
    """Whether the first line has these keys, and no chat_id (which is Bailian's)."""
    keys = sniffing.line_keys(head)
    return keys >= KEYS and "chat_id" not in keys


def parse(data: bytes, options: Options) -> Workload:
    """Lines become requests that share prefixes as their ids say."""
    drafts, notes = collect(json_lines(data), _draft, options)
    return assemble(__name__, TITLE, drafts, options, notes, hash_block=HASH_BLOCK)


def _draft(line: Record) -> Draft:
    prompt_len = line.whole("input_length")
    return Draft(line.number, prompt_len, line.whole("output_length"),
                 round(line.decimal("timestamp") * (NANO // 1000)),
                 hashes=line.whole_list("hash_ids", -(-prompt_len // HASH_BLOCK)))

"""Qwen-Bailian usage traces: chats with their turns and 16-token prefix blocks.

alibaba-edu/qwen-bailian-usagetraces-anon, Apache-2.0. One JSON object on each line: ``chat_id``,
``parent_chat_id`` (-1 for a first turn), ``timestamp`` (seconds), ``input_length``,
``output_length``, ``type``, ``turn``, ``hash_ids`` (one for each block of 16 prompt tokens). The
arrivals are measured ones, so that a turn needs no waiting for the turn before it.
"""

from __future__ import annotations

from core.workloads import sniffing
from core.workloads.assemble import Draft, assemble, nanoseconds
from core.workloads.options import Options
from core.workloads.records import Record, collect
from core.workloads.texts import json_lines
from core.workloads.workload import Workload

TITLE = "Qwen-Bailian usage trace"
KEYS = {"chat_id", "timestamp", "input_length", "output_length"}
HASH_BLOCK = 16
"""Tokens for which an id stands."""


def sniff(head: bytes) -> bool:
    """Whether the first line has these keys."""
    return sniffing.line_keys(head) >= KEYS


def parse(data: bytes, options: Options) -> Workload:
    """Lines become requests that share prefixes as their ids say."""
    drafts, notes = collect(json_lines(data), _draft, options)
    return assemble(__name__, TITLE, drafts, options, notes, hash_block=HASH_BLOCK)


def _draft(line: Record) -> Draft:
    prompt_len = line.whole("input_length")
    return Draft(line.number, prompt_len, line.whole("output_length"),
                 nanoseconds(line.decimal("timestamp")), name=line.text("chat_id"),
                 hashes=line.whole_list("hash_ids", -(-prompt_len // HASH_BLOCK)))

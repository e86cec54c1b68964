"""ShareGPT conversations: text, from which lengths are guessed.

A JSON list of ``{"id": ..., "conversations": [{"from": "human" | "gpt", "value": text}, ...]}``.
As in the usual benchmarks, the first human turn is the prompt and the answer to it is the output.
Counting tokens needs a tokenizer; here they are guessed from the number of characters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from core.faults import Fault
from core.workloads import sniffing
from core.workloads.assemble import Draft, assemble
from core.workloads.options import Options
from core.workloads.records import Record, WorkloadError, collect
from core.workloads.texts import json_value
from core.workloads.workload import Note, Workload

TITLE = "ShareGPT conversations"


def sniff(head: bytes) -> bool:
    """Whether it is a JSON list whose objects have conversations."""
    return "conversations" in sniffing.list_keys(head)


def parse(data: bytes, options: Options) -> Workload:
    """Conversations become requests without arrivals."""

    def draft(entry: Record) -> Draft | None:
        turns = _first_exchange(entry)
        if turns is None:
            return None
        prompt_len, output_len = (math.ceil(len(t) / options.chars_per_token) for t in turns)
        return Draft(entry.number, prompt_len, output_len, name=entry.text("id"))

    found, notes = collect(_entries(data), draft, options)
    drafts = [draft for draft in found if draft is not None]
    if len(drafts) < len(found):
        notes += (Note("skipped", "no_exchange", len(found) - len(drafts)),)
    notes += (Note("guessed", "chars_per_token", len(drafts), options.chars_per_token),)
    return assemble(__name__, TITLE, drafts, options, notes)


def _entries(data: bytes) -> Iterator[Record]:
    """The conversations; ``line`` is the position in the list, as JSON keeps no lines."""
    document = json_value(data)
    if not isinstance(document, list):
        raise WorkloadError([Fault("file", type(document).__name__, "must be a JSON list")])
    for number, values in enumerate(document, start=1):
        if not isinstance(values, dict):
            rule = "must be an object with an id and conversations"
            raise WorkloadError([Fault(f"entry {number}", values, rule)])
        yield Record(number, number, values)


def _first_exchange(entry: Record) -> tuple[str, str] | None:
    """The first human turn and the answer right after it."""
    turns: Any = entry.values.get("conversations")
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise entry.wrong("conversations", "must be a list of objects with from and value")
    for turn, answer in pairwise(turns):
        said = turn.get("value"), answer.get("value")
        if turn.get("from") in ("human", "user") and answer.get("from") not in ("human", "user"):
            return (said[0], said[1]) if all(isinstance(t, str) for t in said) else None
    return None

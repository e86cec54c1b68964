"""ServeGen's offline batches: all requests are there at once.

alibaba/ServeGen, data/offline, Apache-2.0. One JSON object on each line, in one of two forms:
``request_id, type, input_length, output_length, duration`` (milliseconds), or ``request_id, type,
input_length, hash_ids, img_ids`` with one id for each block of 16 prompt tokens and no output
length. Neither has arrival times.
"""

from __future__ import annotations

from core.workloads import sniffing
from core.workloads.assemble import Draft, assemble
from core.workloads.options import Options
from core.workloads.records import Record, collect
from core.workloads.texts import json_lines
from core.workloads.workload import Note, Workload

TITLE = "ServeGen offline batch"
HASH_BLOCK = 16
"""Tokens for which an id stands."""


def sniff(head: bytes) -> bool:
    """Whether the first line has a length and what only these files have, and no time."""
    keys = sniffing.line_keys(head)
    return ("input_length" in keys and "timestamp" not in keys
            and bool(keys & {"duration", "img_ids", "hash_ids"}))


def parse(data: bytes, options: Options) -> Workload:
    """Lines become requests without arrivals; a missing output length is guessed."""
    guessed = 0

    def draft(line: Record) -> Draft:
        nonlocal guessed
        guessed += not line.has("output_length")
        prompt_len = line.whole("input_length")
        return Draft(line.number, prompt_len,
                     line.whole("output_length", default=options.missing_output_len),
                     name=line.text("request_id"),
                     hashes=line.whole_list("hash_ids", -(-prompt_len // HASH_BLOCK)))

    drafts, notes = collect(json_lines(data), draft, options)
    if guessed:
        notes += (Note("guessed", "output_len", guessed, options.missing_output_len),)
    return assemble(__name__, TITLE, drafts, options, notes, hash_block=HASH_BLOCK)

"""LLMServingSim workloads, sessions, and the requests of its measured runs.

casys-kaist/LLMServingSim, MIT. One JSON object on each line: ``input_toks``, ``output_toks`` and
``arrival_time_ns`` (nanoseconds), or ``arrival_time`` (Unix seconds) in a measured run; the
tokens themselves (``input_tok_ids``) may stand beside. A line with ``sub_requests`` is a session:
its first call arrives at ``arrival_time_ns``, each further one ``tool_duration_ns`` (of the call
before it) after that call has ended. Both kinds of line may stand in one file.
"""

from __future__ import annotations

from collections.abc import Hashable

from core.workloads import sniffing
from core.workloads.assemble import NANO, Draft, assemble, nanoseconds
from core.workloads.options import Options
from core.workloads.records import Record, collect
from core.workloads.texts import json_lines
from core.workloads.workload import Note, Workload

TITLE = "LLMServingSim"
HASH_BLOCK = 16
"""Prompts given as tokens are compared in blocks of so many: vLLM's default block size."""


def sniff(head: bytes) -> bool:
    """Whether the first line is a request or a session of this kind."""
    keys = sniffing.line_keys(head)
    return keys >= {"input_toks", "output_toks"} or "sub_requests" in keys


def parse(data: bytes, options: Options) -> Workload:
    """Lines become requests, sessions become requests that wait for each other."""
    lines, notes = collect(json_lines(data), _drafts, options)
    drafts: list[Draft] = []
    measured = False
    for line_drafts, unix_time in lines:
        first = len(drafts) + 1
        measured = measured or unix_time
        drafts += [
            draft._replace(number=first + i, after=first + i - 1 if i else None)
            for i, draft in enumerate(line_drafts)
        ]
    if any(draft.hashes for draft in drafts):
        notes += (Note("guessed", "hashes_from_tokens", len(drafts), HASH_BLOCK),)
    return assemble(__name__, TITLE, drafts, options, notes, hash_block=HASH_BLOCK,
                    rebase=measured)


def _drafts(line: Record) -> tuple[list[Draft], bool]:
    """The requests of a line, and whether its times are wall-clock times."""
    if line.has("arrival_time"):
        arrival_ns = nanoseconds(line.decimal("arrival_time"))
    else:
        arrival_ns = line.whole("arrival_time_ns", most=10**19)
    unix_time = line.has("arrival_time")
    if "sub_requests" in line.values:
        return _session(line, arrival_ns), unix_time
    return [Draft(line.number, line.whole("input_toks"), line.whole("output_toks"), arrival_ns,
                  name=line.text("request_id"), hashes=_hashes(line))], unix_time


def _session(line: Record, arrival_ns: int) -> list[Draft]:
    calls = line.values["sub_requests"]
    if not isinstance(calls, list) or not calls or not all(isinstance(c, dict) for c in calls):
        raise line.wrong("sub_requests", "must be a list of objects, one for each call")
    session = line.text("session_id", longest=50)
    drafts: list[Draft] = []
    wait_s = 0.0
    for position, values in enumerate(calls, start=1):
        call = Record(position, line.line, values)
        drafts.append(Draft(
            position, call.whole("input_toks", 1), call.whole("output_toks", 1),
            None if drafts else arrival_ns, name=session and f"{session}.{position}",
            hashes=_hashes(call), delay_s=wait_s,
        ))
        wait_s = call.decimal("tool_duration_ns", default=0.0) / NANO
    return drafts


def _hashes(line: Record) -> tuple[Hashable, ...]:
    """The blocks of the prompt, the partial last one included, if its tokens are given."""
    tokens = line.whole_list("input_tok_ids", line.whole("input_toks"))
    return tuple(tokens[i : i + HASH_BLOCK] for i in range(0, len(tokens), HASH_BLOCK))

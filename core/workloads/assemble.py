"""What all formats have in common after their lines were read: from drafts to a Workload.

Rows without tokens are left out, rows are brought into the order of their arrivals, wall-clock
times are counted from the first arrival, and each row gets an id of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple

from core.faults import Fault
from core.workloads.options import Options
from core.workloads.records import WorkloadError
from core.workloads.sessions import lay_out_sessions
from core.workloads.workload import Note, Workload, WorkloadRow

NANO = 1_000_000_000
MAX_ID_LENGTH = 64


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds; of a Unix time too, where seconds * 1e9 would be off by some 100."""
    whole = int(seconds)
    return whole * NANO + round((seconds - whole) * NANO)


class Draft(NamedTuple):
    """A row as a file tells it."""

    number: int
    """Which row of the file it is, from 1; the row's id if the file has none."""
    prompt_len: int
    output_len: int
    arrival_ns: int | None = None
    """Whole nanoseconds, so that wall-clock times lose nothing."""
    name: str | None = None
    hashes: tuple[Hashable, ...] = ()
    """What stands for each block of the prompt: an id, or the block's tokens."""
    after: int | None = None
    """Number of the row that must end first. It stands before this one, and has tokens."""
    delay_s: float = 0.0


def assemble(format_name: str, title: str, drafts: Sequence[Draft], options: Options,
             notes: Sequence[Note] = (), *, hash_block: int | None = None,
             rebase: bool = False, rate_hint: float | None = None) -> Workload:
    """The Workload of these drafts.

    Args:
        format_name: ``__name__`` of the format's module.
        notes: What the format itself has to say.
        hash_block: Tokens that each of the drafts' hashes stands for.
        rebase: Times are wall-clock times or the like: count them from the first arrival.

    Raises:
        WorkloadError: if no row is left.
    """
    told = list(notes)
    drafts = _in_order(_without_empty(drafts, options, told), rebase, told)
    start_ns = drafts[0].arrival_ns if rebase and drafts[0].arrival_ns else 0
    names = _names(drafts, told)
    name_of = {draft.number: name for draft, name in zip(drafts, names, strict=True)}
    chains = chained([draft.hashes for draft in drafts])
    rows = tuple(
        WorkloadRow(
            name, draft.prompt_len, draft.output_len,
            None if draft.arrival_ns is None else (draft.arrival_ns - start_ns) / NANO,
            prefix_hashes=chain, prefix_hash_block=hash_block if chain else None,
            after=None if draft.after is None else name_of[draft.after], delay_s=draft.delay_s,
        )
        for name, draft, chain in zip(names, drafts, chains, strict=True)
    )
    short = sum(row.prefix_hash_block is not None
                and len(row.prefix_hashes) * row.prefix_hash_block < row.prompt_len
                for row in rows)
    if short:
        told.append(Note("guessed", "hashes_cover_less", short))
    workload = Workload(format_name.rpartition(".")[2], title, rows, tuple(told), rate_hint)
    return lay_out_sessions(workload, options)


def chained(lists: Sequence[tuple[Hashable, ...]]) -> list[tuple[int, ...]]:
    """Number the ids anew so that an equal id means an equal prefix up to its end.

    Where ids already mean that and count from 0 in the order of their appearance (as Mooncake's
    do), nothing changes.
    """
    number: dict[tuple[int | None, Hashable], int] = {}
    result = []
    for ids in lists:
        parent: int | None = None
        chain = []
        for item in ids:
            parent = number.setdefault((parent, item), len(number))
            chain.append(parent)
        result.append(tuple(chain))
    return result


def _without_empty(drafts: Sequence[Draft], options: Options, told: list[Note]) -> list[Draft]:
    """Leave out what has no prompt; what has no output as the options say."""
    kept = [draft for draft in drafts if draft.prompt_len]
    if len(kept) < len(drafts):
        told.append(Note("skipped", "zero_prompt", len(drafts) - len(kept)))
    silent = sum(not draft.output_len for draft in kept)
    if silent and options.zero_outputs == "drop":
        kept = [draft for draft in kept if draft.output_len]
        told.append(Note("skipped", "zero_output", silent))
    elif silent:
        kept = [draft if draft.output_len else draft._replace(output_len=1) for draft in kept]
        told.append(Note("changed", "zero_output_to_one", silent))
    if not kept:
        raise WorkloadError([Fault("file", f"{len(drafts)} rows without tokens",
                                   "at least one row must have a prompt and an output")])
    return kept


def _in_order(drafts: list[Draft], rebase: bool, told: list[Note]) -> list[Draft]:
    """Oldest arrival first; equal times stay in the order of the file."""
    if any(draft.arrival_ns is None and draft.after is None for draft in drafts):
        told.append(Note("guessed", "no_arrivals", len(drafts)))
        return [draft._replace(arrival_ns=None) for draft in drafts]
    times = [draft.arrival_ns for draft in drafts if draft.arrival_ns is not None]
    late = sum(after < before for before, after in pairwise(times))
    if late:
        told.append(Note("changed", "sorted", late))
        drafts = _sorted(drafts)
    if rebase and min(times):
        told.append(Note("changed", "rebased", len(drafts)))
    return drafts


def _sorted(drafts: list[Draft]) -> list[Draft]:
    """By arrival; a call without one stays behind the call that it waits for."""
    keys, last = [], 0
    for draft in drafts:
        last = last if draft.arrival_ns is None else draft.arrival_ns
        keys.append(last)
    return [drafts[i] for i in sorted(range(len(drafts)), key=keys.__getitem__)]


def _names(drafts: list[Draft], told: list[Note]) -> list[str]:
    """The file's own ids if they are fit for it, else ``r`` and the row's number."""
    names = [draft.name for draft in drafts]
    given = [name for name in names if name and len(name) <= MAX_ID_LENGTH]
    if len(set(given)) == len(drafts):
        return given
    if any(names):
        told.append(Note("changed", "renamed", len(drafts)))
    return [f"r{draft.number}" for draft in drafts]

"""The numbered invariants: what every run of every scheduler has to keep.

    for finding in examine(trace):
        finding.number, finding.name, finding.verdict, finding.step, finding.detail

Each looks at nothing but the record, in a time linear in it. Two more, which have to run the
scenario again, are in reruns.py. An algorithm that is known not to keep one names it, with the
reason, in its ``breaks``; a run that does not keep it is then EXEMPT instead of BROKEN.
"""

from __future__ import annotations

from core.invariants import blocks, budgets, decisions
from core.invariants.finding import Breach, Finding, Invariant, Nothing, Verdict
from core.trace import Trace

__all__ = ["INVARIANTS", "Breach", "Finding", "Invariant", "Nothing", "Verdict", "examine"]

INVARIANTS = (
    Invariant(1, "blocks_conserved",
              "Free, held and parked blocks are all blocks, on each device, in every step.",
              blocks.conserved),
    Invariant(2, "no_block_in_two_tables",
              "No block is in two tables at once, unless they share it as a prefix.",
              blocks.in_one_table),
    Invariant(3, "tokens_within_budget",
              "No step computes more tokens than the token budget has.",
              budgets.tokens),
    Invariant(4, "running_within_seq_budget",
              "No more requests run at once than the sequence budget has seats.",
              budgets.running),
    Invariant(5, "no_admission_past_refused_head",
              "Nobody comes out of a queue in a step in which its head was refused.",
              decisions.nobody_passes_the_head),
    Invariant(6, "every_request_ends_once",
              "Every request ends exactly once, or the run says why not.",
              decisions.everybody_ends_once),
    Invariant(7, "every_refusal_has_a_cause",
              "Whoever gets nothing in a step is told what was short.",
              decisions.every_no_has_a_cause),
)


def examine(trace: Trace) -> list[Finding]:
    """Look at a run with each of the invariants."""
    return [invariant.examine(trace) for invariant in INVARIANTS]

"""Who comes when: the requests of a run in the order of their arrival."""

from __future__ import annotations

from collections import deque

from core.scenario import Scenario
from core.sequence import Sequence

Arrivals = deque[tuple[float, Sequence]]
"""When (in steps or in seconds, as the scenario has it) and who, the next one first."""


def arrivals(scenario: Scenario, sequences: list[Sequence]) -> Arrivals:
    """The arrivals of a run. Who comes at the same time comes in the order of the list."""
    in_seconds = scenario.arrives_in_seconds
    when: list[float] = [
        (request.arrival_s or 0.0) if in_seconds else request.arrival_step
        for request in scenario.requests
    ]
    order = sorted(sequences, key=lambda seq: when[seq.index])
    if in_seconds:
        for rank, seq in enumerate(order):
            seq.arrival_time = when[seq.index] + 1e-9 * rank  # unique, and in this order
    return deque((when[seq.index], seq) for seq in order)

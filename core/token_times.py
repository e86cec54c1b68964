"""When every token came, and what each request held in the KV cache meanwhile.

A Trace holds neither: both follow from the order in which each step served its requests, the
prefills, and the preemptions. The work is linear in the tokens and done in numpy.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.trace import Event, Kind, State, Trace

Ints = NDArray[np.int64]
_KINDS = frozenset((Kind.PREFILLED, Kind.TAKEN_BACK, Kind.PREEMPTED, Kind.SWAPPED_OUT,
                    Kind.SWAPPED_IN, Kind.FINISHED))


@dataclass(frozen=True, slots=True)
class TokenTimes:
    """The tokens of all requests; those of request i from ``first[i]`` up to ``first[i + 1]``."""

    first: Ints
    steps: Ints
    """For each token the step that computed it; it came when that step was over."""
    num_recomputed: Ints
    """For each request: tokens that went through the model again after a preemption."""
    kv_tokens: Ints
    """For each step: tokens whose K and V are on the GPU when it is over, of all requests."""
    unfinished: list[tuple[int, int]]
    """Request and step of every prefill that ended in the middle of the prompt, and so gave no
    token."""
    given_up: list[tuple[int, int, int]]
    """Request, step at whose beginning it lost its GPU blocks (or the run ended), tokens in them;
    of each request in order."""

    def of(self, request: int) -> Ints:
        """The steps that gave a request its tokens."""
        return self.steps[self.first[request] : self.first[request + 1]]


def token_times(trace: Trace) -> TokenTimes:
    """When every token came."""
    num_requests = len(trace.request_rows)
    first, steps = served_steps(trace)
    events: dict[int, list[Event]] = defaultdict(list)
    for event in trace.event_rows:
        if event.kind in _KINDS and event.request is not None and event.step < trace.num_steps:
            events[event.request].append(event)  # a step in which the engine died counts not
    got_token = np.ones(len(steps), dtype=bool)
    decoded = np.ones(len(steps), dtype=bool)
    num_recomputed = np.zeros(num_requests, dtype=np.int64)
    changes = np.zeros(trace.num_steps + 2, dtype=np.int64)
    unfinished: list[tuple[int, int]] = []
    given_up: list[tuple[int, int, int]] = []
    for request, own in events.items():
        served = steps[first[request] : first[request + 1]]
        life = _Life(trace.scenario.requests[request].prompt_len, served)
        for event in own:
            life.follow(event)
        unfinished += [(request, int(served[place])) for place in life.unfinished]
        got_token[first[request] + np.array(life.unfinished, dtype=np.int64)] = False
        decoded[first[request] + np.array(life.prefills, dtype=np.int64)] = False
        num_recomputed[request] = life.num_recomputed
        for step, tokens in life.changes:
            changes[step] += tokens
        given_up += [(request, step, -tokens) for step, tokens in life.changes if tokens < 0]
        if trace.request_rows[request].state is not State.FINISHED:
            given_up.append((request, trace.num_steps, life.held(trace.num_steps)))
    np.add.at(changes, steps[decoded], 1)
    tokens_before = np.concatenate(([0], np.cumsum(got_token)))
    return TokenTimes(tokens_before[first], steps[got_token], num_recomputed,
                      np.cumsum(changes)[: trace.num_steps], unfinished, given_up)


def served_steps(trace: Trace) -> tuple[Ints, Ints]:
    """For each request the steps that served it, as ``first`` and ``steps`` of TokenTimes."""
    served: list[int] = []
    since: dict[int, int] = {}
    stays: list[tuple[int, int, int]] = []
    for edit in trace.queue_edits:
        if edit.queue != "scheduled":
            continue
        end = edit.position + edit.removed
        gone, come = served[edit.position : end], edit.inserted
        served[edit.position : end] = come
        stay = set(gone).intersection(come)
        stays += [(i, since.pop(i), edit.step) for i in gone if i not in stay]
        since.update((i, edit.step) for i in come if i not in stay)
    stays += [(i, start, trace.num_steps) for i, start in since.items()]
    table = np.array(sorted(stays), dtype=np.int64).reshape(-1, 3)
    lengths = table[:, 2] - table[:, 1]
    first = np.zeros(len(trace.request_rows) + 1, dtype=np.int64)
    np.add.at(first, table[:, 0] + 1, lengths)
    begins = np.cumsum(lengths) - lengths
    steps = np.arange(lengths.sum()) + np.repeat(table[:, 1] - begins, lengths)
    return np.cumsum(first), steps


@dataclass(slots=True)
class _Life:
    """What one request has in the cache, event by event."""

    prompt_len: int
    served: Ints
    """Steps that served it."""
    prefills: list[int] = field(default_factory=list)
    """Places in ``served`` that were prefills."""
    unfinished: list[int] = field(default_factory=list)
    """Of these, the ones that ended in the middle of the prompt and gave no token."""
    changes: list[tuple[int, int]] = field(default_factory=list)
    """Step and tokens that came into the GPU's cache or left it, without those of decodes."""
    num_recomputed: int = 0
    _partial: int | None = 0
    """Tokens of the prompt that are computed; None if all are."""
    _ever: int = 0
    """Most tokens that were computed before the last preemption."""
    _before: tuple[int, int | None, int] = (-1, 0, 0)
    """Step of the last prefill, and ``_partial`` and ``num_recomputed`` before it."""

    def follow(self, event: Event) -> None:
        """Take the next event of the request into account."""
        kind, step = event.kind, event.step
        if kind is Kind.PREFILLED:
            self._prefill(event)
        elif kind is Kind.TAKEN_BACK:
            self._take_back(step)
        elif kind is Kind.PREEMPTED:
            held = self.held(step)
            self.changes.append((step, -held))
            self._ever, self._partial = max(self._ever, held), 0
        elif kind is Kind.SWAPPED_OUT:
            self.changes.append((step, -self.held(step)))
        elif kind is Kind.SWAPPED_IN:
            if self._partial == 0:  # the article takes what was never computed for computed
                self._partial = None
            self.changes.append((step, self.held(step)))
        else:  # finished with this step, gone from the next
            self.changes.append((step + 1, -self.held(step + 1)))

    def _prefill(self, event: Event) -> None:
        self._before = event.step, self._partial, self.num_recomputed
        before = self._partial or 0
        after, computed_from = before + event.num_tokens, before + event.num_cached_tokens
        place = int(np.searchsorted(self.served, event.step))
        self.num_recomputed += max(0, min(self._ever, after) - computed_from)
        self.changes.append((event.step, event.num_tokens))
        if after < self.prompt_len + place - len(self.unfinished):
            self.unfinished.append(place)
            self._partial = after
        else:
            self._partial = None
        self.prefills.append(place)

    def _take_back(self, step: int) -> None:
        """V1 takes the tokens of this step away again: if they were a prefill, it never was."""
        prefilled_in, partial, num_recomputed = self._before
        if prefilled_in != step:
            return
        place = self.prefills.pop()
        self.unfinished = [each for each in self.unfinished if each != place]
        self.changes.pop()
        self._partial, self.num_recomputed = partial, num_recomputed

    def held(self, step: int) -> int:
        """Tokens in the cache before the step: all but the last, once the prompt is computed."""
        if self._partial is not None:
            return self._partial
        num_tokens = int(np.searchsorted(self.served, step)) - len(self.unfinished)
        return self.prompt_len + num_tokens - 1

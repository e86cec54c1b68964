"""simulate(scenario) -> Trace: the one loop.

No clock, no random source, no file, no print: the same Scenario gives the same Trace for ever.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from core.arrivals import Arrivals, arrivals
from core.clock import SecondsClock
from core.engine import Engine, EngineDied
from core.recorder import Recorder
from core.runnable import check
from core.scenario import Scenario
from core.schedulers import schedulers
from core.sequence import Sequence
from core.trace import End, Kind, Outcome, RequestRow, State, StepRow, Trace

STUCK_AFTER = 50
"""Steps in a row that schedule nothing, with work left and no arrival to come, before a run is
called stuck. The recordings of the real engines use the same number."""


Watch = Callable[[int, int], None]
"""Is told now and then how many steps are done and how many requests have ended. It can end a run
by raising; it cannot influence one."""

WATCHED_EVERY = 256
"""Steps between two calls."""


def simulate(scenario: Scenario, watch: Watch | None = None) -> Trace:
    """Run a scenario to its end.

    A run always ends: when every request has ended, when nothing can go on (stuck), when the real
    engine would have died (aborted), or at ``scenario.max_steps``.

    Raises:
        ScenarioError: if the scheduler is unknown or refuses the knobs.
    """
    check(scenario)
    scheduler_class = schedulers()[scenario.scheduler]
    record = Recorder(inspect.getfile(scheduler_class))
    scheduler = scheduler_class(scenario.config, record)
    if scheduler.needs_true_length:
        scheduler.true_lengths = {r.request_id: r.output_len for r in scenario.requests}
    sequences = [Sequence(i, request) for i, request in enumerate(scenario.requests)]
    clock = None
    if scenario.clock == "seconds":
        assert scenario.machine is not None, "checked: the clock in seconds has a machine"
        clock = SecondsClock(scenario.machine, scenario.config.block_size)
    end = _run(scenario, scheduler, record, sequences, clock, watch)
    _close(scheduler, record, sequences, end)
    return Trace(scenario, end, record.steps, record.events, record.spans, record.leases,
                 record.edits, [_request_row(seq) for seq in sequences],
                 clock.starts if clock else None, clock.durations if clock else None,
                 record.parkings)


def _run(scenario: Scenario, scheduler: Engine, record: Recorder,
         sequences: list[Sequence], clock: SecondsClock | None, watch: Watch | None) -> End:
    """Step until the run ends."""
    to_come = arrivals(scenario, sequences)
    in_seconds = scenario.arrives_in_seconds
    targets = [request.output_len for request in scenario.requests]
    idle = 0
    while to_come or scheduler.num_alive:
        step = record.step
        if step >= scenario.max_steps:
            return End(Outcome.STEP_LIMIT, step)
        if watch and step % WATCHED_EVERY == 0:
            watch(step, len(sequences) - len(to_come) - scheduler.num_alive)
        scheduler.now = step
        if clock and in_seconds:
            if to_come and _has_to_wait(scheduler, clock):
                clock.jump(to_come[0][0])
            scheduler.now = clock.now
        if to_come and to_come[0][0] <= scheduler.now:
            _let_arrive(scheduler, to_come)
        try:
            scheduled = scheduler.schedule()
        except EngineDied as death:
            record.event(Kind.ABORTED, death.request, cause=death.cause, death=death)
            return End(Outcome.ABORTED, step, death.cause, death.request.index, str(death))
        record.scheduled(scheduled)
        if clock:
            clock.spend(scheduled, record)
        record.close_step(_step_row(scheduler, record, len(scheduled)))
        _process_outputs(scheduler, record, scheduled, targets)
        idle = 0 if scheduled or to_come else idle + 1
        if idle == STUCK_AFTER:
            return _stuck(record)
    return End(Outcome.FINISHED, record.step)


def _has_to_wait(scheduler: Engine, clock: SecondsClock) -> bool:
    """Whether nothing can happen before the next arrival: nobody is there, or nobody moves."""
    return not scheduler.num_alive or clock.num_empty >= STUCK_AFTER


def _let_arrive(scheduler: Engine, to_come: Arrivals) -> None:
    """Whoever is to come by now joins the waiting queue."""
    while to_come and to_come[0][0] <= scheduler.now:
        seq = to_come.popleft()[1]
        seq.arrived = True
        seq.state_since = scheduler.record.step
        scheduler.arrive(seq)


def _process_outputs(scheduler: Engine, record: Recorder, scheduled: list[Sequence],
                     targets: list[int]) -> None:
    """Every scheduled request that has caught up with its tokens gets the next one."""
    cap = scheduler.length_cap
    for seq in scheduled:
        seq.num_computed_tokens += seq.num_scheduled_tokens
        if seq.num_computed_tokens < seq.num_tokens:
            continue  # in the middle of its prompt
        seq.num_output_tokens += 1
        seq.num_tokens += 1
        if seq.first_token_step is None:
            seq.first_token_step = record.step - 1
        if seq.state is State.PREFILL:
            record.enter(seq, State.DECODE)
        if seq.num_output_tokens >= targets[seq.index] or seq.num_tokens >= cap:
            scheduler.finish(seq)


def _step_row(scheduler: Engine, record: Recorder, num_scheduled: int) -> StepRow:
    blocks, budget = scheduler.blocks, scheduler.budget
    return StepRow(budget.used_tokens, record.prefill_tokens, num_scheduled,
                   len(scheduler.running), len(scheduler.waiting), len(scheduler.swapped),
                   blocks.gpu.num_free, blocks.cpu.num_free, budget.used_seqs, record.refusal)


def _stuck(record: Recorder) -> End:
    """The run cannot go on; the last step's first refusal says who blocks it and why."""
    refusal = record.steps[-1].refusal
    blocker = (next((e for e in reversed(record.events) if e.cause), None) if refusal is None
               else record.events[refusal])
    if blocker is None:
        return End(Outcome.STUCK, record.step)
    return End(Outcome.STUCK, record.step, blocker.cause, blocker.request)


def _close(scheduler: Engine, record: Recorder, sequences: list[Sequence], end: End) -> None:
    """End every stay and every lease that is still open, and give each end its row."""
    if end.outcome is Outcome.ABORTED:  # the step that died has no row, but is on the picture
        record.step += 1
    record.unpark_all()
    for seq in sequences:
        if not seq.arrived:
            continue
        unfinished = seq.state not in (State.FINISHED, State.IGNORED)
        record.lease("gpu", seq, seq.block_table, seq.block_since)
        record.lease("cpu", seq, seq.cpu_blocks, seq.cpu_since, seq.num_swapped_blocks is not None)
        if unfinished and end.outcome is Outcome.ABORTED:
            record.enter(seq, State.ABORTED)
        elif unfinished:
            if record.step > seq.state_since:
                record.end_stay(seq)
            continue
        seq_step, record.step = record.step, seq.state_since
        record.end_stay(seq)
        record.step = seq_step


def _request_row(seq: Sequence) -> RequestRow:
    return RequestRow(seq.state, seq.num_output_tokens, seq.first_scheduled_step,
                      seq.first_token_step, seq.end_step, seq.num_preemptions, seq.num_swaps,
                      seq.total_computed, seq.total_cached)

"""Whether a scenario can be run: its fields, and what its scheduler says to the knobs."""

from __future__ import annotations

from core.faults import Fault, ScenarioError
from core.scenario import EngineConfig, Scenario
from core.schedulers import schedulers


def check(scenario: Scenario) -> None:
    """See that the scheduler exists and takes these knobs.

    Raises:
        ScenarioError: with everything that the scheduler refuses.
    """
    if faults := _refusals(scenario.scheduler, scenario.config):
        raise ScenarioError(faults)


def runnable(data: object) -> Scenario:
    """A Scenario from plain data (what ``json.loads`` gives) that can be run as it is.

    Raises:
        ScenarioError: with every fault of the input, and all that the scheduler refuses.
    """
    try:
        scenario = Scenario.parse(data)
    except ScenarioError as error:
        raise ScenarioError([*error.faults, *_refusals_of_data(data)]) from None
    check(scenario)
    return scenario


def _refusals(scheduler: str, config: EngineConfig) -> list[Fault]:
    known = schedulers()
    if scheduler not in known:
        return [Fault("scheduler", scheduler, f"must be one of {', '.join(known)}")]
    return [fault._replace(field=f"config.{fault.field}")
            for fault in known[scheduler].config_faults(config)]


def _refusals_of_data(data: object) -> list[Fault]:
    """What the scheduler would say to the knobs, where nothing is wrong with these two alone."""
    if not isinstance(data, dict):
        return []
    given = {field: data[field] for field in ("scheduler", "config") if field in data}
    try:
        scenario = Scenario.parse({**given, "name": "knobs", "requests": []})
    except ScenarioError:
        return []
    return _refusals(scenario.scheduler, scenario.config)

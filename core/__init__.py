"""A deterministic, self-explaining model of vLLM's schedulers.

    from core import Scenario, simulate
    trace = simulate(Scenario.from_json(open("presets/01_article_demo.json").read()))
    trace.steps, trace.events, trace.spans, trace.leases, trace.requests
"""

from core.faults import Fault, ScenarioError
from core.runnable import check
from core.scenario import EngineConfig, Request, Scenario
from core.simulator import simulate
from core.trace import Trace

__all__ = ["EngineConfig", "Fault", "Request", "Scenario", "ScenarioError", "Trace", "check",
           "simulate"]

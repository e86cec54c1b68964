"""Small things that pages show alike."""

from __future__ import annotations

from html import escape

import streamlit as st

from core.faults import ScenarioError
from core.presets import Preset, totals
from core.scenario import Scenario
from core.schedulers.vllm_v1_checks import frontend_refusals, startup_refusal
from core.trace import Trace

STYLE = """<style>
[data-testid=stMainBlockContainer]{padding:3.4rem 1.4rem 1rem;max-width:none}
[data-testid=stHeader]{height:2.9rem;min-height:2.9rem}
[data-testid=stSidebarHeader]{height:2.4rem;margin-bottom:0}
[data-testid=stSidebarUserContent]{padding-top:0}
[data-testid=stSidebar] [data-testid=stVerticalBlock]{gap:.55rem}
.headline{display:flex;gap:1.2rem;align-items:flex-start;margin-bottom:-.4rem}
.headline p{flex:1;margin:0;font-size:.88rem;line-height:1.3}
.headline dl{display:flex;gap:.9rem;margin:0}
.headline dt{font-size:.72rem;opacity:.75;white-space:nowrap;font-weight:400}
.headline dd{font-size:1.12rem;font-weight:600;margin:0;font-variant-numeric:tabular-nums;
 white-space:nowrap}
@media (max-width:900px){.headline{flex-wrap:wrap}.headline p{flex-basis:100%}}
</style>"""


def headline(preset: Preset, trace: Trace) -> None:
    """The lesson of the preset and the five numbers of the run."""
    numbers = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
                      for name, value in five_numbers(trace))
    lesson = (f"<b>{escape(preset.title)}.</b> {escape(preset.lesson)} "
              f"<i>{escape(preset.look_for)}</i>")
    st.html(f"<div class='headline'><p>{lesson}</p><dl>{numbers}</dl></div>")


def five_numbers(trace: Trace) -> list[tuple[str, str]]:
    """What one looks at first."""
    found = totals(trace)
    return [
        ("steps", f"{found['num_steps']:,}"),
        ("finished", f"{found['num_finished']:,} of {len(trace.request_rows):,}"),
        ("recomputed", f"{found['num_preemptions']:,} ×"),
        ("swapped out", f"{found['num_swaps']:,} ×"),
        ("tokens computed", f"{found['num_computed_tokens']:,}"),
    ]


def faults(text: str, error: ScenarioError, most: int = 10) -> None:
    """Say what is wrong with an input: each field with its value and the rule."""
    lines = [f"- `{fault.field}` = {fault.value}: {fault.rule}" for fault in error.faults[:most]]
    if len(error.faults) > most:
        lines.append(f"- and {len(error.faults) - most} more")
    st.error(f"{text}:\n" + "\n".join(lines))


def front_end(scenario: Scenario) -> None:
    """What a real V1 server would have said before its scheduler saw any of this."""
    if scenario.scheduler != "vllm_v1":
        return
    if cause := startup_refusal(scenario.config):
        _remark(f"A real server would not start so: one sequence of max_model_len tokens needs"
                f" {cause.needed:,} blocks, and {cause.available:,} can be used.")
    if refused := frontend_refusals(scenario):
        names = ", ".join(map(literal, list(refused)[:5])) + (" ..." if len(refused) > 5 else "")
        longest = scenario.config.max_model_len
        _remark(f"A real server's front end would refuse {names}: with one generated token the"
                f" prompt would be longer than max_model_len ({longest:,}).")


def literal(text: str) -> str:
    """Text from outside, shown as it is: no Markdown in it is rendered."""
    return "`" + text.replace("`", "'") + "`"


def _remark(text: str) -> None:
    st.caption(f":orange[:material/info: {text}]")

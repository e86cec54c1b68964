"""Sentences for decisions: from an event's kind and cause through translatable templates.

No algorithm contains prose. A template's key is ``kind.limit``, with ``.other`` if the cause names
another request; the most special one that exists is taken. The page's JavaScript applies the same
rule to the same templates.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from core.schedulers import schedulers
from core.trace import Event, Kind, Outcome, Trace

LOCALES = Path(__file__).parent / "locales"


@cache
def templates(language: str = "en") -> dict[str, str]:
    """All templates of a language; what it lacks is in English."""
    english: dict[str, str] = json.loads((LOCALES / "en.json").read_text("utf-8"))
    if language == "en":
        return english
    path = LOCALES / f"{language}.json"
    return english | (json.loads(path.read_text("utf-8")) if path.exists() else {})


def template_key(trace: Trace, event: Event) -> str:
    """The key of the most special template for an event that there is."""
    known, cause = templates(), event.cause
    key: str = event.kind.value
    if event.num_cached_tokens:
        return f"{key}.cached"
    if event.kind is Kind.PREFILLED and _starts_over(trace, event):
        return f"{key}.again"
    if cause is None:
        return key
    limited = f"{key}.{cause.limit.value}"
    about_another = cause.other not in (None, trace.request_id(event.request))
    keys = [f"{limited}.other"] if about_another else []
    return next((k for k in (*keys, limited) if k in known), key)


def sentence(trace: Trace, event: Event, language: str = "en") -> str:
    """The event in words, with its numbers."""
    return templates(language)[template_key(trace, event)].format(
        **numbers(trace, event, language))


def _starts_over(trace: Trace, event: Event) -> bool:
    """Whether the request had lost its blocks before, so that it computes all it has again."""
    lost = None if event.request is None else trace.first_losses.get(event.request)
    return lost is not None and lost < event.step


def end_sentence(trace: Trace, language: str = "en") -> str:
    """How the run ended, in words."""
    words, end = templates(language), trace.end
    if end.outcome is Outcome.STUCK and end.cause is not None:
        last = next(e for e in reversed(trace.event_rows)
                    if (e.request, e.cause) == (end.request, end.cause))
        return words["end.stuck.because"].format(since=end.step - _idle_steps(trace),
                                                 cause=sentence(trace, last, language))
    text = words[f"end.{end.outcome.value}"].format(steps=end.step)
    if end.outcome is Outcome.ABORTED:
        text += " " + sentence(trace, trace.event_rows[-1], language)
    return text


def _idle_steps(trace: Trace) -> int:
    """Steps at the end of the run in which nothing was scheduled."""
    count = 0
    for row in reversed(trace.step_rows):
        if row.num_scheduled:
            break
        count += 1
    return count


def numbers(trace: Trace, event: Event, language: str = "en") -> dict[str, object]:
    """What the placeholders of a template stand for; None where the event does not say."""
    config, cause = trace.scenario.config, event.cause
    rule = schedulers()[trace.scenario.scheduler].victim_rule(config)
    asked = None if event.request is None else trace.scenario.requests[event.request]
    return {
        "request": trace.request_id(event.request),
        "prompt_len": asked and asked.prompt_len,
        "num_tokens": event.num_tokens,
        "cached": event.num_cached_tokens,
        "computed": event.num_tokens - event.num_cached_tokens,
        "queue": event.queue,
        "block": event.block_id,
        "needed": cause and cause.needed,
        "available": cause and cause.available,
        "other": cause and cause.other,
        "victim": templates(language)[f"victim.{rule}"],
        "reserve": int(config.watermark * config.num_gpu_blocks),
    }

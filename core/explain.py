"""Sentences for decisions: from an event's kind and cause through translatable templates.

No algorithm contains prose. A template's key is ``kind.limit``, with ``.other`` if the cause names
another request; the most special one that exists is taken. The page's JavaScript applies the same
rule to the same templates.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

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


def template_key(event: Event, attempt: int = 0) -> str:
    """The key of the most special template for an event that there is.

    Args:
        event: A decision.
        attempt: How often its request had been preempted before.
    """
    known = templates()
    if event.kind is Kind.PREFILLED:
        if event.num_cached_tokens:
            return "prefilled.cached"
        return "prefilled.again" if attempt else "prefilled"
    key: str = event.kind.value
    if event.cause is not None:
        limited = f"{key}.{event.cause.limit.value}"
        if event.cause.other is not None and f"{limited}.other" in known:
            return f"{limited}.other"
        if limited in known:
            return limited
    return key


def sentence(trace: Trace, event: Event, language: str = "en") -> str:
    """The event in words, with its numbers."""
    attempt = 0
    if event.kind is Kind.PREFILLED:
        attempt = sum(1 for e in trace.event_rows
                      if e.kind is Kind.PREEMPTED and e.request == event.request
                      and e.step < event.step)
    text = templates(language)[template_key(event, attempt)]
    return text.format(**_numbers(trace, event))


def end_sentence(trace: Trace, language: str = "en") -> str:
    """How the run ended, in words."""
    words, end = templates(language), trace.end
    if end.outcome is Outcome.STUCK and end.request is not None:
        last = next(e for e in reversed(trace.event_rows) if e.request == end.request and e.cause)
        return words["end.stuck.because"].format(
            since=end.step - _idle_steps(trace), request=trace.request_id(end.request),
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


def _numbers(trace: Trace, event: Event) -> dict[str, object]:
    config, cause = trace.scenario.config, event.cause
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
        "reserve": int(config.watermark * config.num_gpu_blocks),
        "interval": config.prefill_schedule_interval,
    }

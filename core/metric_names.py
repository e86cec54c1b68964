"""The serving metrics: keys, units and definitions, as data that a page can show.

Names and definitions are those of ``vllm bench serve``; what it does not have is marked. With the
clock in steps a step counts as a second, and ``time_unit`` says "steps".
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from core.trace import Trace

Sort = Literal["instant", "duration", "count", "rate", "share"]


class Metric(NamedTuple):
    """What a number means."""

    key: str
    """Column or row where it stands."""
    name: str
    unit: str
    """``time`` is seconds or steps, see ``time_unit``."""
    sort: Sort
    definition: str


INSTANTS = (
    Metric("arrival_s", "arrival", "time", "instant", "the request is sent"),
    Metric("scheduled_s", "scheduled", "time", "instant",
           "the first step that serves it begins"),
    Metric("first_token_s", "first token", "time", "instant",
           "the step that computes its first token is over"),
    Metric("last_token_s", "last token", "time", "instant",
           "the step that computes its last token is over; only of finished requests"),
)
DURATIONS = (
    Metric("queue_s", "queue time", "time", "duration", "scheduled - arrival"),
    Metric("ttft_s", "TTFT", "time", "duration", "time to first token: first token - arrival"),
    Metric("tpot_s", "TPOT", "time", "duration",
           "time per output token, without the first: (last token - first token) / (tokens - 1);"
           " requests with one token have none"),
    Metric("itl_s", "ITL", "time", "duration",
           "inter-token latency: from each token to the next one of the same request"),
    Metric("e2el_s", "E2EL", "time", "duration", "end-to-end latency: last token - arrival"),
    Metric("normalized_latency_s", "normalised latency", "time/token", "duration",
           "E2EL / tokens (vLLM paper, section 6; not in vllm bench serve)"),
)
COUNTS = (
    Metric("num_output_tokens", "output tokens", "tokens", "count", "tokens that it got"),
    Metric("num_preemptions", "preemptions", "", "count",
           "times that it lost its blocks and waited again, to be recomputed"),
    Metric("num_recomputed_tokens", "recomputed tokens", "tokens", "count",
           "tokens that went through the model again after a preemption"),
    Metric("num_swaps", "swaps", "", "count", "times that it was swapped out"),
    Metric("num_swapped_blocks", "swapped blocks", "blocks", "count",
           "blocks that crossed the host link for it, both ways, as small as they were then"),
    Metric("swapped_bytes", "swapped bytes", "bytes", "count",
           "bytes of the swapped blocks; known where there is a machine"),
)
TOTALS = (
    Metric("duration_s", "benchmark duration", "time", "duration",
           "from the first arrival to the last token of all finished requests"),
    Metric("completed", "successful requests", "", "count", "requests that finished"),
    Metric("total_input_tokens", "total input tokens", "tokens", "count",
           "prompt tokens of the finished requests"),
    Metric("total_output_tokens", "total generated tokens", "tokens", "count",
           "output tokens of the finished requests"),
    Metric("request_throughput", "request throughput", "1/time", "rate", "completed / duration"),
    Metric("request_goodput", "request goodput", "1/time", "rate",
           "finished requests that kept both objectives / duration"),
    Metric("output_throughput", "output token throughput", "tokens/time", "rate",
           "total output tokens / duration"),
    Metric("total_token_throughput", "total token throughput", "tokens/time", "rate",
           "(total input tokens + total output tokens) / duration"),
    Metric("max_concurrent_requests", "peak concurrent requests", "", "count",
           "most requests that a step served or that were running in it"),
    Metric("num_preemptions", "preemptions", "", "count", "of all requests"),
    Metric("num_recomputed_tokens", "recomputed tokens", "tokens", "count", "of all requests"),
    Metric("num_swapped_blocks", "swapped blocks", "blocks", "count", "of all requests"),
    Metric("swapped_bytes", "swapped bytes", "bytes", "count", "of all requests"),
    Metric("kv_usage_mean", "KV usage", "", "share",
           "held GPU blocks / all that can be held, mean over time (vLLM: kv_cache_usage)"),
    Metric("kv_usage_max", "peak KV usage", "", "share", "the same, highest"),
    Metric("fragmentation_mean", "fragmentation", "", "share",
           "slots of held blocks that hold no token, mean over the time in which any are held"
           " (not in vllm bench serve)"),
)
STATISTICS = ("mean", "median", "p90", "p99")
"""Of each duration over the requests; percentiles are linear, as numpy's."""


def time_unit(trace: Trace) -> Literal["s", "steps"]:
    """What the times of a run's metrics are in."""
    return "steps" if trace.starts_s is None else "s"

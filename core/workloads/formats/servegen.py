"""ServeGen client files: not requests but what one client's requests are drawn from.

alibaba/ServeGen, Apache-2.0; cite arXiv 2505.09999. A client is a pair of files, to be read
together.
``chunk-N-trace.csv`` (no header): for each window of 600 s its start (s), rate (requests/s),
coefficient of variation, family of the gaps (Gamma, Weibull, or empty for no traffic) and two
parameters. ``chunk-N-dataset.json``: for each 21,600 s a distribution per field, as a string with
a Python dict {tokens: probability}, empty where there is no data.

Requests are drawn from a seed: gaps of the window's family and shape, scaled to the window's rate;
lengths of prompt and output independently of each other. The prompt of a multimodal request is the
sum of its text, image, audio and video tokens.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from core.faults import Fault
from core.workloads import arrivals
from core.workloads.assemble import NANO, Draft, assemble
from core.workloads.options import Options
from core.workloads.records import WorkloadError
from core.workloads.servegen_files import Client, Distribution, Window, read_client
from core.workloads.texts import BYTE_ORDER_MARK
from core.workloads.workload import Note, Workload

TITLE = "ServeGen client"
_TRACE = re.compile(rb"\d+,[\d.eE+-]+,[\d.eE+-]+,(Gamma|Weibull|),[\d.eE+-]+,[\d.eE+-]+\s")
_DATASET = re.compile(rb'\s*\{\s*"\d+"\s*:\s*\{\s*"\w+"\s*:\s*"\{')


def sniff(head: bytes) -> bool:
    """Whether it is either file of a client's pair."""
    return bool(_TRACE.match(head + b"\n") or _DATASET.match(head))


def is_trace(head: bytes) -> bool:
    """Whether it is the pair's table of windows."""
    return bool(_TRACE.match(head + b"\n"))


def parse(data: bytes, options: Options) -> Workload:
    """Draw the requests of a stretch of time. Either file may come first, the other with it.

    Raises:
        WorkloadError: without ``options.companion``, or if there is no traffic in that time.
    """
    pair = [data, options.companion.removeprefix(BYTE_ORDER_MARK)]
    if not is_trace(data):
        pair.reverse()
    if not is_trace(pair[0]) or not _DATASET.match(pair[1]):
        missing = "dataset.json" if is_trace(data) else "trace.csv"
        raise WorkloadError([Fault("file", "one of a pair", "a ServeGen client is two files: give"
                                   f" the chunk-N-{missing} that belongs to this one, too")])
    client = read_client(*pair)
    busy = [w for w in client.windows if w.rate > 0]
    if not busy:
        raise WorkloadError([Fault("rate", 0, "at least one window must have traffic")])
    from_s = busy[0].start_s if options.from_s is None else options.from_s
    to_s = from_s + options.duration_s
    rng = arrivals.generator(options.seed)
    drafts: list[Draft] = []
    for window in busy:
        drafts += _window(rng, client, window, from_s, to_s, options.max_rows - len(drafts))
    if not drafts:
        rule = f"no requests from {from_s:g} s to {to_s:g} s; the traffic begins at" \
               f" {busy[0].start_s:g} s"
        raise WorkloadError([Fault("from_s", from_s, rule)])
    numbered = [draft._replace(number=i) for i, draft in enumerate(drafts, start=1)]
    notes = (Note("guessed", "drawn", len(drafts), options.seed),
             Note("skipped", "outside_window", 0, f"{from_s:g} s to {to_s:g} s"))
    return assemble(__name__, TITLE, numbered, options, notes)


def _window(rng: Generator, client: Client, window: Window, from_s: float, to_s: float,
            room: int) -> list[Draft]:
    """The requests of one window that fall between the two times, at most ``room``."""
    start, end = max(window.start_s, from_s), min(window.start_s + client.window_s, to_s)
    if start >= end or room <= 0:
        return []
    times = _times(rng, window, end - start)[:room]
    prompts, outputs = client.lengths_at(window.start_s)
    prompt_lens = np.sum([_draw(rng, each, len(times)) for each in prompts], axis=0)
    output_lens = _draw(rng, outputs, len(times))
    return [
        Draft(0, int(prompt_len), int(output_len), round((start - from_s + time) * NANO))
        for time, prompt_len, output_len in zip(times, prompt_lens, output_lens, strict=True)
    ]


def _times(rng: Generator, window: Window, length_s: float) -> arrivals.Seconds:
    """Arrivals after the start of a stretch of this length."""
    batch = max(16, int(window.rate * length_s))
    times = np.cumsum(arrivals.gaps(rng, batch, window.rate, window.family, window.shape))
    while times[-1] < length_s:
        more = arrivals.gaps(rng, batch, window.rate, window.family, window.shape)
        times = np.concatenate([times, times[-1] + np.cumsum(more)])
    return times[times < length_s]


def _draw(rng: Generator, distribution: Distribution, count: int) -> NDArray[np.int64]:
    at = np.searchsorted(distribution.cumulative, rng.random(count), side="right")
    return distribution.values[at]

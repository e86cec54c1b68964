"""Measures the theatre in Chromium: python -m tests.pages.bench_theatre

For 40 requests / 256 blocks / 400 steps and for 200 / 1,024 / 3,000: the time from a key press on
a slider until both pictures are repainted (median of 7), the size of what is sent, and the frames
per second while playing. Not a test: machines differ, so nothing is asserted.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.pages.browser import browser, dashboard, wait_for_run

SHAPES = {"M": (40, 256, 0.2, 75, 400), "L": (200, 1_024, 0.085, 220, 1_000)}
"""Requests, GPU blocks, arrivals per step, mean output tokens, longest prompt."""


def preset(shape: str) -> dict[str, Any]:
    """A pressured run of the named size."""
    count, blocks, rate, output, prompt = SHAPES[shape]
    draw, at, requests = random.Random(1), 0.0, []
    for i in range(count):
        at += draw.expovariate(rate)
        requests.append({"request_id": f"r{i}", "arrival_step": int(at),
                         "prompt_len": draw.randint(prompt // 4, prompt),
                         "output_len": draw.randint(output // 2, 2 * output)})
    config = {"num_gpu_blocks": blocks, "num_cpu_blocks": blocks // 2, "max_num_seqs": 64,
              "max_num_batched_tokens": 2_048, "max_model_len": 2_048, "preemption_mode": "swap"}
    return {"title": f"Benchmark {shape}", "lesson": "", "look_for": "", "scenario": {
        "name": shape, "scheduler": "vllm_v0", "config": config, "requests": requests}}


def measure(page: Any, address: str, shape: str) -> dict[str, Any]:
    """Open the run, move a slider, play."""
    sent: list[int] = []
    page.on("websocket", lambda ws: ws.on("framereceived", lambda data: sent.append(len(data))))
    page.goto(f"{address}/?preset=bench_{shape}")
    version = wait_for_run(page)
    page.wait_for_selector(".st-key-chart_box .bars path")
    time.sleep(1)
    steps = int(page.locator(".scrub input").get_attribute("max")) + 1
    slider = page.get_by_role("slider", name="GPU blocks")
    slider.focus()
    times, sizes = [], []
    for _ in range(8):
        sent.clear()
        before, bars = version, page.evaluate(MARK_CHART)
        start = time.perf_counter()
        page.keyboard.press("ArrowLeft")
        version = wait_for_run(page, before)
        page.wait_for_function(CHART_IS_NEW, arg=bars)
        times.append(1000 * (time.perf_counter() - start))
        sizes.append(sum(sent))
        time.sleep(0.4)
    page.locator("[data-do=rate]").select_option("60")
    page.get_by_role("button", name="Play", exact=True).click()
    draws = page.locator("canvas.grid")
    first, start = int(draws.get_attribute("data-draws")), time.perf_counter()
    time.sleep(2.5)
    frames = (int(draws.get_attribute("data-draws")) - first) / (time.perf_counter() - start)
    return {"shape": shape, "steps": steps, "change_ms": round(statistics.median(times[1:])),
            "sent_kB": round(statistics.median(sizes[1:]) / 1000),
            "frames_per_s": round(frames, 1)}


MARK_CHART = """() => { const plot = document.querySelector('.st-key-chart_box .js-plotly-plot');
  plot.dataset.old = '1'; return 1; }"""
CHART_IS_NEW = """() => { const plot = document.querySelector('.st-key-chart_box .js-plotly-plot');
  return plot && !plot.dataset.old && plot.querySelector('.bars path')
    && plot.querySelector('.theatre-line'); }"""


def main() -> None:
    """Measure both sizes and print a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        for shape in SHAPES:
            path = Path(folder) / f"bench_{shape}.json"
            path.write_text(json.dumps(preset(shape)), "utf-8")
        with dashboard(SCHEDULER_PRESETS=folder) as address, browser() as chrome:
            for shape in SHAPES:
                page = chrome.new_page(viewport={"width": 1400, "height": 900})
                print(json.dumps(measure(page, address, shape)))
                page.close()


if __name__ == "__main__":
    main()

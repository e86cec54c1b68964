"""The theatre's JavaScript says what core/explain.py and core/verdicts.py say, in every run."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core import Trace
from core.explain import sentence
from core.figures.theatre.pack import pack
from core.queue_replay import QUEUES, queues_by_step
from core.token_times import token_times
from core.verdicts import verdict_sentence, verdicts_by_step
from tests.core.every_run import GROUPS, every_run

THEATRE = Path(__file__).parents[2] / "core" / "figures" / "theatre"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")

TELL = """
function names(run, requests) { return requests.join(); }
const plain = (html) => html.replace(/<[^>]*>/g, '').replace(/&lt;/g, '<').replace(/&gt;/g, '>')
  .replace(/&quot;/g, '"').replace(/&#39;/g, "'").replace(/&amp;/g, '&');
const told = (run) => {
  const sentences = Array.from(run.c.eventStep.keys(), (event) => plain(sentence(run, event)));
  const verdicts = [], outputs = [];
  for (let t = 0; t < run.steps; t++) {
    run.seek(t);
    const ofStep = {};
    for (const queue of ['waiting', 'running', 'swapped'])
      for (const request of run.queues.get(queue)) {
        const found = verdict(run, request, queue);
        if (found.kind !== 'given') ofStep[run.h.ids[request]] = [found.event, plain(found.text)];
      }
    verdicts.push(ofStep);
    outputs.push(Array.from({ length: run.n }, (_, request) => run.progress(request, t).outputs));
  }
  return { sentences, verdicts, outputs };
};
(async () => {
  const folder = process.argv[1], all = {};
  for (const file of require('fs').readdirSync(folder))
    all[file] = told(await unpack(require('fs').readFileSync(`${folder}/${file}`)));
  process.stdout.write(JSON.stringify(all));
})();
"""


def told_in_the_browser(runs: dict[str, Trace], folder: Path) -> dict[str, Any]:
    """Every sentence and every verdict of these runs, as Node.js finds them."""
    for name, trace in runs.items():
        (folder / name).write_bytes(pack(trace))
    script = "\n".join([(THEATRE / f"{part}.js").read_text("utf-8")
                        for part in ("timeline", "run", "explain")] + [TELL])
    done = subprocess.run(["node", "-e", script, "--", str(folder)], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def told_by_the_core(trace: Trace) -> dict[str, Any]:
    place = {id(event): number for number, event in enumerate(trace.event_rows)}
    times = token_times(trace)
    tokens = [times.of(request) for request in range(len(trace.request_rows))]
    verdicts = []
    for queues, found in zip(queues_by_step(trace), verdicts_by_step(trace), strict=True):
        alive = [request for queue in QUEUES for request in queues[queue]]
        verdicts.append({str(trace.request_id(request)): [place[id(found[request].event)],
                                                          verdict_sentence(trace, found[request])]
                         for request in alive if request in found})
    return {"sentences": [sentence(trace, event) for event in trace.event_rows],
            "verdicts": verdicts or [{}],
            "outputs": [[int((steps <= step).sum()) for steps in tokens]
                        for step in range(max(len(verdicts), 1))]}


@pytest.mark.parametrize("group", GROUPS)
def test_javascript_tells_what_the_core_tells_of_the_runs_of(group: str, tmp_path: Path) -> None:
    runs = {name.replace("/", "-"): trace for name, trace in every_run(group).items()}
    in_browser = told_in_the_browser(runs, tmp_path)
    assert len(in_browser) == len(runs) > 30
    assert [name for name, trace in runs.items()
            if in_browser[name] != told_by_the_core(trace)] == []

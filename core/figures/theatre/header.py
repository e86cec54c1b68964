"""What the theatre is told of a run besides the columns of pack.py, once for the whole run."""

from __future__ import annotations

from typing import Any

from core.explain import end_sentence, templates
from core.figures.theme import LOOKS, owner_color
from core.queue_replay import num_shown_steps
from core.schedulers import schedulers
from core.source import decode_line, source_file
from core.trace import Kind, Limit, Trace

QUEUES = ("waiting", "running", "swapped", "scheduled")


def header_of(trace: Trace) -> dict[str, Any]:
    """Names, sizes, words and the scheduler's source: all that is no column of numbers."""
    scenario, config = trace.scenario, trace.scenario.config
    scheduler = schedulers()[scenario.scheduler]
    source = source_file(scheduler)
    token_budget, seq_budget = scheduler.budgets(config)
    return {
        "steps": max(num_shown_steps(trace), 1),
        "computedSteps": trace.num_steps,
        "ids": [r.request_id for r in scenario.requests],
        "promptLens": [r.prompt_len for r in scenario.requests],
        "outputLens": [r.output_len for r in scenario.requests],
        "arrivals": [r.arrival_step for r in scenario.requests],
        "priorities": [r.priority for r in scenario.requests],
        "colors": [owner_color(i) for i in range(min(len(scenario.requests), 40))],
        "looks": {name: look._asdict() for name, look in LOOKS.items()},
        "lookNames": list(LOOKS),
        "kinds": [kind.value for kind in Kind],
        "limits": [limit.value for limit in Limit],
        "queues": QUEUES,
        "gpuBlocks": config.num_gpu_blocks,
        "cpuBlocks": config.num_cpu_blocks if "num_cpu_blocks" in scheduler.knobs else 0,
        "nullBlock": scheduler.has_null_block,
        "blockSize": config.block_size,
        "tokenBudget": token_budget,
        "seqBudget": seq_budget,
        "reserve": int(config.watermark * config.num_gpu_blocks) if "watermark" in scheduler.knobs
        else 0,
        "interval": config.prefill_schedule_interval,
        "victimRule": scheduler.victim_rule(config),
        "outcome": trace.end.outcome.value,
        "ending": end_sentence(trace),
        "message": trace.end.message,
        "templates": templates(),
        "words": {key.removeprefix("theatre."): text for key, text in templates().items()
                  if key.startswith("theatre.")},
        "decodeLine": decode_line(scheduler),
        "file": f"core/schedulers/{source.name}",
        "source": source.read_text("utf-8").splitlines(),
    }

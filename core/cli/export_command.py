"""``export FILE --format NAME``: a scenario, or the run of it, in a form for other programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from core.cli import ABNORMAL, DONE
from core.cli.inputs import write_file
from core.cli.run_command import read_scenario
from core.export.formats import SCENARIO_EXPORTS, TRACE_EXPORTS
from core.export.vllm_command import vllm_command
from core.export.vllm_flags import VERSIONS
from core.simulator import simulate
from core.trace import Outcome, Trace

HELP = "write a run as CSV, Perfetto trace, recording or playing page; or its vllm serve command"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, --format, --out and --vllm."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a scenario or a preset, as JSON")
    parser.add_argument("--format", required=True,
                        choices=[*TRACE_EXPORTS, "html", *SCENARIO_EXPORTS],
                        help="csv is a zip file of all tables; html is a page that plays")
    parser.add_argument("--out", metavar="FILE", type=Path,
                        help="where to write it; without it, it goes to standard output")
    parser.add_argument("--vllm", choices=VERSIONS,
                        help="for command: for this version only (default: one for each)")


def run(arguments: argparse.Namespace) -> int:
    """Write the export; 1 if the run that it holds ended abnormally."""
    scenario = read_scenario(arguments.file)
    code = DONE
    if arguments.format == "command" and arguments.vllm is not None:
        content = vllm_command(scenario, arguments.vllm).text.encode()
    elif arguments.format in SCENARIO_EXPORTS:
        content = SCENARIO_EXPORTS[arguments.format].make(scenario)
    else:
        trace = simulate(scenario)
        content = _page(trace) if arguments.format == "html" else TRACE_EXPORTS[
            arguments.format].make(trace)
        code = DONE if trace.end.outcome is Outcome.FINISHED else ABNORMAL
    if arguments.out is None:
        sys.stdout.buffer.write(content)
    else:
        write_file(arguments.out, content)
    return code


def _page(trace: Trace) -> bytes:
    """The theatre with this run. The chart library is loaded for nothing else."""
    from core.figures.theatre.standalone import standalone_html
    from core.figures.theatre.view import view_of

    return standalone_html(view_of(trace))

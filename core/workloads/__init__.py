"""Workloads: real traces in, seeded generators, slices, and the requests of a Scenario.

    workload = read(data)                       # bytes of any known format
    sentences(workload.summary)                 # what was read, skipped and guessed
    scenario = to_scenario(apply(workload, Slice(first=100)))

A format is one file in core/workloads/formats with TITLE, ``sniff`` and ``parse``. Adding one is
adding a file. Nothing is written to a disk and nothing that was read is executed.
"""

from core.workloads.generators import Recipe, generate
from core.workloads.lengths import Lengths
from core.workloads.options import Options
from core.workloads.reading import formats, read, recognise
from core.workloads.records import WorkloadError
from core.workloads.requests import to_requests
from core.workloads.scenarios import to_scenario
from core.workloads.slices import Slice, apply
from core.workloads.summary import Summary, sentences
from core.workloads.workload import Note, Workload, WorkloadRow

__all__ = ["Lengths", "Note", "Options", "Recipe", "Slice", "Summary", "Workload",
           "WorkloadError", "WorkloadRow", "apply", "formats", "generate", "read", "recognise",
           "sentences", "to_requests", "to_scenario"]

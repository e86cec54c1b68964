"""The house rules that can be read from the files themselves: who imports whom, and how large.

To add a module, add its name to a row of LAYERS. A module may import from its own row and from
the rows above it in the table, which are the lower floors of the house. A package stands for all
that is in it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

LAYERS: tuple[tuple[str, ...], ...] = (
    # what a run depends on
    ("core.faults",),
    ("core.checked",),
    ("core.cost",),
    ("core.scenario",),
    # the run itself
    ("core.vocabulary",),
    ("core.trace",),
    ("core.sequence",),
    ("core.recorder",),
    ("core.blocks", "core.blocks_v0", "core.contiguous", "core.prefix_v0", "core.prefix_v1"),
    ("core.engine",),
    ("core.schedulers",),
    ("core.arrivals", "core.clock", "core.runnable"),
    ("core.simulator",),
    ("core",),
    # what is made of its trace, and what scenarios are made of
    ("core.claim", "core.compare", "core.explain", "core.export", "core.invariants",
     "core.measured", "core.measured_check", "core.memory", "core.memory_contrast",
     "core.memory_use", "core.metric_names", "core.metrics", "core.phenomena",
     "core.presets", "core.queue_replay", "core.recorded", "core.recorded_steps",
     "core.replay", "core.source", "core.swap_or_recompute", "core.sweep", "core.tables",
     "core.token_times", "core.verdicts", "core.window", "core.workloads"),
    # what is seen of it
    ("core.figures",),
    ("core.cli", "core.__main__"),
    ("pages.ui",),
    ("pages",),
    ("app",),
)

LAZY_BACK = {
    ("core.trace", "core.tables"): "the tables are made when they are first asked for",
    ("core.workloads.workload", "core.workloads.summary"): "so is the summary",
}
"""Imports within a function that go up or round in a circle, each with the reason."""

ONLY_IN = {
    "streamlit": ("pages", "app"),
    "plotly": ("core.figures", "pages"),
}
"""Libraries that have their place."""

PURE_UP_TO = "core.simulator"
"""A run has no clock, no random source, no file and no print: nothing up to here may use these."""
IMPURE_MODULES = {"asyncio", "datetime", "io", "os", "pathlib", "random", "secrets", "socket",
                  "subprocess", "tempfile", "threading", "time", "uuid"}
IMPURE_CALLS = {"hash", "id", "input", "open", "print"}

MAX_LINES = 260
TOP_LEVEL = {"README.md", "app.py", "core", "pages", "presets", "requirements.txt", "tests"}
"""Given by the user. Names that begin with a dot may stand next to them."""


class Import(NamedTuple):
    """That one module imports another, of this project or not."""

    importer: str
    imported: str
    lazy: bool
    """Within a function, so only when that is called."""


FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted([*ROOT.glob("core/**/*.py"), *ROOT.glob("pages/**/*.py"), ROOT / "app.py"])
}
"""Each module of the project and its file."""


def imports_of(module: str) -> list[Import]:
    """What the file imports; under ``if TYPE_CHECKING`` nothing is imported."""
    found: list[Import] = []

    def visit(node: ast.AST, lazy: bool) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.extend(Import(module, alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative imports hide who imports whom"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.append(Import(module, full if full in FILES else str(node.module), lazy))
        inside = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(ast.parse(FILES[module].read_text("utf-8")), lazy=False)
    return found


IMPORTS = [each for module in FILES for each in imports_of(module)]
INNER = [each for each in IMPORTS if each.imported in FILES]


def row_of(module: str) -> int:
    """The row of LAYERS that names the module or its closest package; ``core`` is only itself.
    One that has no place yet stands behind the last row."""
    rows = {name: number for number, names in enumerate(LAYERS) for name in names}
    name = module
    while name not in rows or (name == "core" and module != "core"):
        name, dot, _ = name.rpartition(".")
        if not dot:
            return len(LAYERS)
    return rows[name]


def within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == each or module.startswith(f"{each}.") for each in packages)


@pytest.mark.parametrize("module", FILES)
def test_module_has_a_place_in_the_order(module: str) -> None:
    assert row_of(module) < len(LAYERS), f"add {module} to a row of LAYERS in {__file__}"


def test_imports_go_down_only() -> None:
    upward = {
        (each.importer, each.imported) for each in INNER
        if row_of(each.importer) < row_of(each.imported)
        and not (each.lazy and (each.importer, each.imported) in LAZY_BACK)
    }
    assert upward == set()


def test_exceptions_to_the_order_are_still_needed() -> None:
    assert {(each.importer, each.imported) for each in INNER if each.lazy} >= set(LAZY_BACK)


def test_imports_make_no_circle() -> None:
    """Not even a lazy one, except those with a reason."""
    graph: dict[str, set[str]] = {module: set() for module in FILES}
    for each in INNER:
        package_of_its_own = each.importer.startswith(f"{each.imported}.")
        if (each.importer, each.imported) not in LAZY_BACK and not package_of_its_own:
            graph[each.importer].add(each.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize(("library", "places"), ONLY_IN.items())
def test_library_is_imported_only_where_it_belongs(library: str, places: tuple[str, ...]) -> None:
    users = {each.importer for each in IMPORTS if within(each.imported, (library,))}
    assert {user for user in users if not within(user, places)} == set()


def test_import_of_the_core_loads_no_library_for_pictures_and_tables() -> None:
    """In a fresh interpreter, a run included."""
    code = ("import sys; from core import Scenario, simulate;"
            "simulate(Scenario.parse({'requests': [{'request_id': 'a', 'prompt_len': 1,"
            " 'output_len': 1}]}));"
            "print(sorted({'plotly', 'pandas', 'numpy', 'streamlit'} & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                          check=True)
    assert done.stdout.strip() == "[]"


PURE = [module for module in FILES
        if row_of(module) <= row_of(PURE_UP_TO)]


@pytest.mark.parametrize("module", PURE)
def test_run_depends_on_nothing_but_its_scenario(module: str) -> None:
    imported = {each.imported.split(".")[0] for each in IMPORTS if each.importer == module}
    assert imported & IMPURE_MODULES == set()
    called = {node.func.id for node in ast.walk(ast.parse(FILES[module].read_text("utf-8")))
              if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert called & IMPURE_CALLS == set()


@pytest.mark.parametrize("module", FILES)
def test_file_is_small_enough_to_be_read_at_once(module: str) -> None:
    assert len(FILES[module].read_text("utf-8").splitlines()) <= MAX_LINES


def test_top_level_is_what_the_user_gave() -> None:
    names = {path.name for path in ROOT.iterdir()
             if not path.name.startswith(".") and path.name != "__pycache__"
             and not (path / "pyvenv.cfg").exists()}
    assert names == TOP_LEVEL

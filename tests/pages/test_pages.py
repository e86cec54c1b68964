"""Every page runs with every preset, says what it promises, and keeps the last good run."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from core.export.vllm_flags import FLAGS
from core.presets import load_presets
from core.schedulers import schedulers
from pages.ui import sidebar
from pages.ui.knobs import KNOBS, NOT_VLLMS

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(path.name for path in (ROOT / "pages").glob("*.py"))
PRESETS = load_presets()


@pytest.fixture(autouse=True)
def warm_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a server that somebody has visited: AppTest would begin each run in Streamlit's old
    multipage mode, which a server leaves at the first visit (pages/ui/frame.py; the cold visit has
    its browser test)."""
    original = PagesManager.__init__

    def warm(self: PagesManager, *args: object, **more: object) -> None:
        original(self, *args, **more)
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", warm)


def open_app(page: str = "run.py", **query: str) -> AppTest:
    """The dashboard on a page, with a link's parameters."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    if page != "run.py":
        app.switch_page(f"pages/{page}").run()
    return app


def shown(app: AppTest) -> str:
    """All text on the page."""
    kinds = (app.markdown, app.caption, app.error, app.warning, app.info)
    parts = [element.value for kind in kinds for element in kind]
    parts += [html.proto.body for html in app.get("html")]
    return unescape("\n".join(map(str, parts)))


def gantt(app: AppTest) -> dict:
    """The chart on the page."""
    return json.loads(app.get("plotly_chart")[0].proto.spec)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("preset", PRESETS)
def test_page_with_preset_runs_without_exception(page: str, preset: str) -> None:
    app = open_app(page, preset=preset)
    assert not app.exception, app.exception
    assert shown(app)


@pytest.mark.parametrize("preset", PRESETS)
def test_run_page_with_every_preset_shows_chart_and_theatre(preset: str) -> None:
    app = open_app(preset=preset)
    assert not app.exception and not app.error
    assert PRESETS[preset].title in shown(app)
    assert gantt(app)["data"]
    assert app.get("bidi_component")


def test_sidebar_slider_moved_changes_the_run() -> None:
    app = open_app()
    before = gantt(app)
    app.select_slider(key="knob_num_gpu_blocks").set_value(12).run()
    assert gantt(app) != before
    assert app.query_params["num_gpu_blocks"] == "12"


def test_sidebar_preset_chosen_sets_its_knobs() -> None:
    app = open_app()
    app.selectbox(key="preset").set_value("05_sequence_budget_binds").run()
    assert app.session_state["knob_max_num_seqs"] == 3
    assert app.session_state["scheduler"] == "article_repaired"
    assert "max_num_seqs" not in app.query_params


def test_link_with_knobs_reopens_the_same_run() -> None:
    app = open_app(preset="21_v0_swap", num_cpu_blocks="20", scheduler="article_repaired")
    assert app.session_state["knob_num_cpu_blocks"] == 20
    assert app.session_state["scheduler"] == "article_repaired"
    assert not app.warning


def test_link_with_bad_values_leaves_them_out_and_says_so() -> None:
    app = open_app(preset="nowhere", num_gpu_blocks="-3", scheduler="magic")
    told = "\n".join(w.value for w in app.warning)
    assert "nowhere" in told and "num_gpu_blocks = -3" in told and "magic" in told
    assert not app.exception and app.session_state["knob_num_gpu_blocks"] == 5


def test_bad_combination_shows_the_faults_and_keeps_the_last_good_run() -> None:
    app = open_app(preset="25_v0_prefill_stall")
    good = gantt(app)
    app.select_slider(key="knob_max_num_batched_tokens").set_value(256).run()
    told = app.error[0].value
    assert "max_num_batched_tokens" in told and "256" in told and "last good run" in told
    assert gantt(app) == good and not app.exception


@pytest.mark.parametrize("name", schedulers())
def test_sidebar_offers_every_knob_of_the_scheduler(name: str) -> None:
    app = open_app()
    app.session_state[sidebar.MORE] = True
    app.selectbox(key="scheduler").set_value(name).run()
    assert not app.exception
    drawn = {element.key for kind in ("select_slider", "toggle", "button_group")
             for element in app.get(kind)}
    missing = {f"knob_{k}" for k in schedulers()[name].knobs} - drawn
    assert not missing


def test_every_knob_has_a_control() -> None:
    used = {knob for scheduler in schedulers().values() for knob in scheduler.knobs}
    assert used <= set(KNOBS)


def test_page_choice_survives_other_pages() -> None:
    app = open_app()
    app.select_slider(key="knob_num_gpu_blocks").set_value(12).run()
    app.switch_page("pages/tables.py").run()
    app.switch_page("pages/run.py").run()
    assert app.session_state["knob_num_gpu_blocks"] == 12


def test_knob_is_vllms_or_known_as_our_own() -> None:
    vllms = {name for flags in FLAGS.values() for name in flags} | {"num_cpu_blocks"}
    assert set(KNOBS) - NOT_VLLMS == vllms
    assert vllms & NOT_VLLMS == set()

"""A running dashboard and a browser in front of it, for tests and for the benchmark."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync"]


def chromium() -> str | None:
    """The installed browser, if there is one."""
    return next((path for path in CHROMIUM if Path(path).exists()), None)


@contextmanager
def dashboard(**environment: str) -> Iterator[str]:
    """A freshly started dashboard; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port),
         "--server.fileWatcherType", "none"],
        cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_until_healthy(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(10)


def _wait_until_healthy(address: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        assert server.poll() is None, "the dashboard ended while it started"
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1)
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the dashboard did not start within 30 s")


@contextmanager
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield running
        running.close()


def wait_for_run(page: Any, other_than: str | None = None) -> str:
    """Wait until the theatre shows a run (another one than this); gives its version."""
    page.wait_for_function(
        "(before) => { const shown = window.schedulerTheatre?.shown;"
        " return shown && shown !== before; }", arg=other_than, timeout=30_000)
    version: str = page.evaluate("window.schedulerTheatre.shown")
    return version

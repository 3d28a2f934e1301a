"""The cockpit in marimo, whose kernel is not IPython: it takes the same widget, live and with its buttons."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright")

from tests.browser.pages import PATIENCE_S
from tests.browser.servers import ROOT
from tests.ports import free_port

PROGRAM = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import nbaccel as ray

    ray.init(num_cpus=2, num_gpus=2)

    @ray.remote(num_gpus=1)
    def hold():
        import time

        time.sleep(600)

    refs = [hold.options(name="first").remote()]
    view = mo.ui.anywidget(ray.dashboard())
    return mo, refs, view


@app.cell
def _(view):
    view
    return
"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A marimo server with one notebook."""
    pytest.importorskip("marimo", reason="marimo is not installed")
    (tmp_path / "notebook.py").write_text(PROGRAM)
    port = free_port()
    command = [sys.executable, "-m", "marimo", "run", "notebook.py", "--headless", "--no-token", "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    server = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait(address: str) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen(address, timeout=10).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "marimo did not answer"
            time.sleep(0.1)


def test_marimo_shows_the_cockpit_and_cancel_works(browser: Any, address: str) -> None:
    context = browser.new_context()
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_S * 1000)
        page.goto(address)
        cockpit = page.locator(".nbaccel-cockpit")
        cockpit.get_by_role("button", name="Cancel first on GPU 0").click()
        cockpit.get_by_text("0 of 2 GPUs busy").wait_for()
        cockpit.get_by_role("tab", name="Tasks").click()
        cockpit.locator("tr[data-task]", has_text="first").get_by_text("⊘ cancelled").wait_for()
    finally:
        context.close()

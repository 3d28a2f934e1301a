"""A saved notebook needs no kernel and no network: what was shown is in it as HTML, for nbconvert, GitHub, e-mail."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.servers import ROOT, START_TIMEOUT_S

CELLS = ("%load_ext nbaccel\n%accel_init num_cpus=2 num_gpus=2", "%accel_dashboard", "%accel_shutdown")


def _as_html(notebook: Path, *options: str) -> Path:
    patience = [f"--ExecutePreprocessor.{each}_timeout={START_TIMEOUT_S}" for each in ("startup", "iopub")]
    command = [sys.executable, "-m", "nbconvert", "--to", "html", *patience, *options, str(notebook)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, check=True, capture_output=True, env=environment, cwd=notebook.parent)
    return notebook.with_suffix(".html")


def _rows(browser: Any, page_file: Path) -> list[str]:
    """The devices that the page shows when it is opened as a file, with no network at all."""
    context = browser.new_context(offline=True)
    try:
        page = context.new_page()
        page.goto(page_file.as_uri(), wait_until="domcontentloaded")
        assert page.locator("caption", has_text="Devices").first.is_visible()
        return list(page.locator(".nbaccel tbody th").all_inner_texts())
    finally:
        context.close()


def test_a_notebook_that_nbconvert_ran_shows_the_card(browser: Any, tmp_path: Path) -> None:
    import nbformat

    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    nbformat.write(notebook, tmp_path / "ran.ipynb")
    html = _as_html(tmp_path / "ran.ipynb", "--execute")
    assert _rows(browser, html) == ["GPU 0", "GPU 1"] * 2
    assert "application/vnd.jupyter.widget" not in html.read_text(), "a widget would need a script from elsewhere"


def test_a_notebook_that_was_saved_from_the_page_shows_the_card(
    browser: Any, opened: Callable[..., Any], tmp_path: Path
) -> None:
    page = opened(*CELLS[:2]).run_all()
    page.cockpit(1).get_by_text("0 of 2 GPUs busy").wait_for()
    page.menu("File", "Save Notebook")
    page.until(lambda: sum("GPU 1" in output for output in page.saved()) == 2)  # a file that is read too early is none
    saved = tmp_path / "saved.ipynb"
    saved.write_text(page.file(page.name).read_text())
    assert _rows(browser, _as_html(saved)) == ["GPU 0", "GPU 1"], "the card has lines, and the open cockpit has rows"

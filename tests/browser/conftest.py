"""Servers and a browser for the tests here; where something is missing they are skipped and say what."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.loose import LoosePage

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(900))  # far above what a test waits for


@pytest.fixture(scope="package")  # its event loop runs in this thread: it must not outlive these tests
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    if shutil.which(CHROMIUM) is None:
        pytest.skip(f"no Chromium at {CHROMIUM}; CHROMIUM= names another")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def loose(browser: Any) -> Iterator[Callable[..., LoosePage]]:
    """Makes pages with the cockpit alone, without a server."""
    pages: list[LoosePage] = []

    def page(snapshot: dict[str, Any], **options: Any) -> LoosePage:
        pages.append(LoosePage(browser, snapshot, **options))
        return pages[-1]

    yield page
    for each in pages:
        each.close()


@pytest.fixture(scope="package")  # its event loop runs in this thread: it must not outlive these tests
def servers(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Makes servers, each kind once."""
    from tests.browser.servers import Server

    running: dict[tuple[bool, ...], Server] = {}

    def server(
        *,
        classic: bool = False,
        dark: bool = False,
        panel: bool = False,
        machine: bool = False,
        looks_only: bool = False,
    ) -> Server:
        if classic:
            pytest.importorskip("notebook", reason="notebook is not installed")
        if panel:
            pytest.importorskip("nbaccel_lab", reason="nbaccel-lab is not installed: make extension")
        kind = (classic, dark, panel, machine, looks_only)
        if kind not in running:
            folder = tmp_path_factory.mktemp("server")
            given = {"classic": classic, "dark": dark, "panel": panel, "machine": machine, "looks_only": looks_only}
            running[kind] = Server(folder, **given)
        return running[kind]

    yield server
    for each in running.values():
        each.close()


@pytest.fixture
def opened(browser: Any, servers: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Opens a notebook of these cells in a page of its own, with everything but this machine out of reach."""
    from tests.browser.pages import NotebookPage

    pages: list[NotebookPage] = []

    def open_notebook(
        *cells: str,
        classic: bool = False,
        dark: bool = False,
        panel: bool = False,
        machine: bool = False,
        looks_only: bool = False,
        **options: Any,
    ) -> NotebookPage:
        server = servers(classic=classic, dark=dark, panel=panel, machine=machine, looks_only=looks_only)
        pages.append(NotebookPage(browser, server, cells, dark=dark, **options))
        return pages[-1]

    yield open_notebook
    for page in pages:
        page.close()

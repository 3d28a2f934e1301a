"""A notebook on Ray and one on the local engine, side by side in the panel of a real JupyterLab."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.test_panel import START, holders, holding

NAMES = ["east", "north", "south"]  # three tasks for two devices
SHUT_DOWN = """
while not os.path.exists("ray.may_end"):
    time.sleep(0.02)
ray.shutdown()
"""


def ordered(page: Any, name: str, **given: str) -> tuple[int, str]:
    """What the server answers to an order: the status and its words."""
    headers = {**page.server.headers, "Content-Type": "application/json"}
    address = page.server.url(f"nbaccel/api/v1/{name}")
    request = urllib.request.Request(address, json.dumps(given).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)["message"]


def test_a_notebook_on_ray_stands_beside_a_local_one_and_its_tasks_are_cancelled(opened: Callable[..., Any]) -> None:
    pytest.importorskip("ray")
    local = opened(START, holding("here"), panel=True).run_all()
    page = opened(f"{START} engine=ray", holding(*NAMES), SHUT_DOWN, panel=True).run_all()
    panel = page.open_panel()
    on_ray = panel.locator(".nbaccel-runtime", has_text=page.name)
    beside = panel.locator(".nbaccel-runtime", has_text=local.name)
    on_ray.get_by_text("ray engine").wait_for()
    beside.get_by_text("local engine").wait_for()
    page.until(lambda: len(holders(on_ray)) == 2 and set(holders(on_ray)) < set(NAMES))
    page.until(lambda: holders(beside) == ["here"])
    page.until(lambda: page.page.locator(".nbaccel-status button").inner_text().startswith("GPU 2/2 · 3 running"))
    waiting = ({*NAMES} - {*holders(on_ray)}).pop()
    on_ray.get_by_text(f"{waiting} waits").wait_for()

    page.until(lambda: page.is_busy)  # the cell waits, and a thread of its process answers
    cancelled = holders(on_ray)[0]
    on_ray.get_by_role("button", name=f"Cancel {cancelled}").click()
    page.until(lambda: waiting in holders(on_ray) and cancelled not in holders(on_ray))
    on_ray.get_by_role("button", name="Details").click()
    on_ray.get_by_role("tab", name="Tasks").click()
    on_ray.locator("tr[data-task]", has_text=cancelled).get_by_text("cancelled").wait_for()

    beside.get_by_role("button", name=f"Shut down {local.name}").wait_for()
    assert not on_ray.get_by_role("button", name=f"Shut down {page.name}").count(), "the panel cannot end it"
    code, words = ordered(page, "shutdown", runtime=on_ray.get_attribute("data-runtime"))
    assert code == 409 and "nbaccel.shutdown()" in words
    page.file("ray.may_end").touch()
    on_ray.wait_for(state="detached")
    assert holders(beside) == ["here"] and not page.refused

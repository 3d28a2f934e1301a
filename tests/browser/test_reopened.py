"""A saved notebook that is opened again: trusted or not, with its kernel gone or another one, its cards can be read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

START = "%load_ext nbaccel\n%accel_init num_cpus=2 num_gpus=2"
BUSY = """
import time
import nbaccel as ray

@ray.remote(num_gpus=1)
def hold():
    time.sleep(600)

refs = [hold.remote() for _ in range(2)]
"""
ALL_RUN = """
from nbaccel.util import state

while len(state.list_tasks(filters=[("state", "=", "RUNNING")])) < 2:
    time.sleep(0.05)
"""
WIDGET = "application/vnd.jupyter.widget-view+json"


def shown(page: Any, cell: int = 0) -> str:
    """What the output of this cell says in the page, once it says anything."""
    output = page.page.locator(".jp-CodeCell").nth(cell).locator(".jp-OutputArea-output").first
    page.until(lambda: output.inner_text().strip() != "")
    return str(output.inner_text())


def assert_no_error(page: Any) -> None:
    page.page.wait_for_function("!document.body.innerText.includes('Loading widget')")
    assert "Error displaying widget" not in page.page.inner_text("body")
    assert page.page.locator(".nbaccel-cockpit").count() == 0


def untrusted(text: str) -> str:
    """The notebook of somebody else: no server of ours has signed it."""
    notebook = json.loads(text)
    notebook["metadata"]["from"] = "elsewhere"
    return json.dumps(notebook)


@pytest.mark.parametrize("classic", [False, True], ids=["lab", "notebook7"])
def test_a_notebook_that_was_saved_live_shows_its_cards_without_its_kernel(
    opened: Callable[..., Any], classic: bool
) -> None:
    page = opened(START, BUSY, "%accel_dashboard", classic=classic).run_all()
    page.cockpit(1).get_by_text("2 running").wait_for()
    text = page.save("nbaccel-place")
    assert WIDGET not in text
    page.end_kernel()
    for given in (text, untrusted(text)):  # each starts a kernel that knows nothing of the cards
        again = opened(text=given, classic=classic)
        for cell in (0, 2):
            assert "GPU 0" in shown(again, cell) and "as of 20" in shown(again, cell)
        assert_no_error(again)


def test_a_card_of_another_kernel_stays_beside_a_live_one(opened: Callable[..., Any]) -> None:
    page = opened(START).run_all()
    page.cockpit().get_by_text("0 of 2 GPUs busy").wait_for()
    notebook = json.loads(page.save("nbaccel-place"))
    new = "%load_ext nbaccel\n%accel_init num_cpus=1 num_gpus=3"
    more = [
        {**notebook["cells"][0], "id": id, "source": source, "outputs": [], "execution_count": None}
        for id, source in (("second", new), ("third", "pass"))
    ]
    notebook["cells"] += more
    page.end_kernel()
    again = opened(text=json.dumps(notebook)).run_all()
    again.cockpit().get_by_text("0 of 3 GPUs busy").wait_for()
    again.until(lambda: again.page.locator(".nbaccel-cockpit").count() == 1)
    assert "0 of 2 GPUs busy" in shown(again) and "as of 20" in shown(again)


def test_after_a_shutdown_the_file_has_the_last_snapshot(opened: Callable[..., Any]) -> None:
    page = opened(START, BUSY + ALL_RUN, "%accel_shutdown").run_all()
    page.output("nbaccel has shut down.")
    text = page.save("Shut down at")
    assert WIDGET not in text and "nbaccel-place" not in text
    for given in (text, untrusted(text)):
        again = opened(text=given)
        assert "Shut down at" in shown(again) and "2 ended with it" in shown(again)
        assert_no_error(again)


def test_a_kernel_that_ends_by_itself_leaves_the_last_snapshot(opened: Callable[..., Any]) -> None:
    page = opened(START, BUSY + ALL_RUN, "print('about to', 'exit')\nexit()").run_all()
    page.output("about to exit")
    page.until(lambda: "Shut down at" in shown(page))
    assert "2 ended with it" in shown(page)


def test_a_finished_bar_is_saved_as_finished(opened: Callable[..., Any]) -> None:
    page = opened(START, "%%accel --each=range(3)\nitem * item", "print('all', 'done')").run_all()
    page.output("all done")
    text = page.save("3 of 3 tasks · 100 %")
    assert WIDGET not in text
    for given in (text, untrusted(text)):
        again = opened(text=given)
        assert "3 of 3 tasks · 100 %" in shown(again, 1)
        assert_no_error(again)

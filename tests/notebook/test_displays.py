"""What a live card leaves in a notebook's outputs, by the messages that a front end gets."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

pytest.importorskip("anywidget", reason="anywidget is not installed")

from nbaccel import engine
from nbaccel.notebook.displays import Displays
from tests.notebook.kernels import Cell, Kernel, gone

START = "%load_ext nbaccel\n%accel_init num_gpus=2 num_cpus=2"
WIDGET = "application/vnd.jupyter.widget-view+json"
LAB, VS_CODE = "5f0f6d0c-1c3a-4f0e-9d7e-0b9f3f1c2a11", "vscode-notebook-cell:/home/me/a.ipynb#W0sZmlsZQ%3D%3D"


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    kernel = Kernel()
    yield kernel
    kernel.close()
    assert gone(kernel.token) == {}


def outputs(cell: Cell) -> list[dict[str, Any]]:
    """The cell's outputs as a file would keep them: those that were drawn again, as they were drawn last."""
    named: dict[str, dict[str, Any]] = {}
    for number, (kind, content) in enumerate(cell.outputs):
        if kind in ("display_data", "update_display_data"):
            named[content["transient"].get("display_id", str(number))] = content["data"]
    return list(named.values())


@pytest.mark.parametrize(("front_end", "has_widget"), [(LAB, False), (VS_CODE, True), ("", True)])
def test_a_live_card_is_the_last_snapshot_after_the_end(kernel: Kernel, front_end: str, has_widget: bool) -> None:
    cell = kernel.finish(kernel.submit(START, front_end))
    (live,) = outputs(cell)
    assert (WIDGET in live, "nbaccel-place" in live["text/html"]) == (has_widget, not has_widget)
    assert "GPU 0" in live["text/html"] and "as of 20" in live["text/html"]
    kernel.run("import nbaccel\nnbaccel.shutdown()")
    kernel.until(lambda: "Shut down at" in outputs(cell)[0]["text/html"])
    assert [set(output) for output in outputs(cell)] == [{"text/plain", "text/html"}]


def test_a_kernel_that_ends_leaves_the_last_snapshot(kernel: Kernel) -> None:
    cell = kernel.finish(kernel.submit(START, LAB))
    kernel.submit("exit()")
    kernel.until(lambda: "Shut down at" in outputs(cell)[0]["text/html"])


def test_a_bar_over_items_is_kept_as_it_was_last(kernel: Kernel) -> None:
    kernel.run(START)
    cell = kernel.run("%%accel --each=range(3)\nitem = item * 2")
    kernel.until(lambda: "3 of 3 tasks · 100 %" in outputs(cell)[0]["text/plain"])
    assert all(WIDGET not in output for output in outputs(cell))


def test_outputs_that_two_threads_draw_a_last_time_are_each_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "cell_source", None)  # it is set to this shell's
    drawn: list[str] = []

    def send(socket: Any, kind: str, content: dict[str, Any], **about: Any) -> None:
        if kind == "update_display_data":
            drawn.append(content["transient"]["display_id"])
            if len(drawn) == 1:
                displays.draw_last({})  # the other thread comes in between

    shell = InteractiveShell()
    shell.kernel = SimpleNamespace(session=SimpleNamespace(send=send), iopub_socket=None)
    displays = Displays(shell)
    for _ in range(3):
        displays.show({}, {})
    displays.draw_last({})
    shell.history_manager.end_session()
    assert len(drawn) == len(set(drawn)) == 3


GROWS = """
import nbaccel
nbaccel.init(num_cpus=1, node_types={"gpu": {"num_gpus": 1, "max": 1, "idle_s": 0.5, "arrives_after_s": 10}})
"""


@pytest.mark.slow
def test_the_nodes_under_a_cell_change_in_place_and_the_last_state_stays(kernel: Kernel) -> None:
    kernel.run("%load_ext nbaccel")
    kernel.run(GROWS)
    cell = kernel.run("%accel_nodes")
    again = kernel.run("%accel_nodes")

    def shown(words: str) -> bool:
        return all(words in outputs(each)[0]["text/plain"] for each in (cell, again))

    kernel.run("%accel_scale num_gpus=1")
    kernel.until(lambda: shown("arriving for"))
    kernel.until(lambda: shown("gpu-1"))
    kernel.until(lambda: shown("holds room"))
    kernel.run("%accel_scale 0")
    kernel.until(lambda: not shown("gpu-1"))
    kernel.run("nbaccel.shutdown()")
    kernel.until(lambda: shown("the cluster has ended"))
    assert [set(output) for output in outputs(cell)] == [{"text/plain", "text/html"}]
    assert "as of 20" in outputs(cell)[0]["text/html"]
    assert "%accel_init" in kernel.run("%accel_nodes").text

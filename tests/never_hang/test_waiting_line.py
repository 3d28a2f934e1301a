"""The line under a cell whose task waits, through a real kernel: at once, after five seconds, in place, and gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.notebook.kernels import Cell, Kernel, gone

HOLD = (
    "import nbaccel as ray\n\n@ray.remote(num_gpus=1)\nclass Holder:\n    def ready(self): return True\n\n"
    "holder = Holder.remote()\nray.get(holder.ready.remote())"
)


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    kernel = Kernel()
    yield kernel
    kernel.close()
    assert gone(kernel.token) == {}


def lines(cell: Cell) -> list[tuple[str, Any, str]]:
    """(message type, display id, text) of what was said of waiting under this cell."""
    return [
        (kind, body["transient"]["display_id"], body["data"]["text/plain"])
        for kind, body in cell.outputs
        if kind in ("display_data", "update_display_data") and "waits" in body["transient"].get("display_id", "")
    ]


@pytest.mark.slow
def test_a_task_that_waits_has_one_line_under_its_cell_until_it_starts(kernel: Kernel) -> None:
    kernel.run("%load_ext nbaccel\n%accel_init num_gpus=1 num_cpus=2")
    kernel.run(HOLD)
    waiting = kernel.run("ref = ray.remote(num_gpus=1)(lambda: 'done').remote()")
    other = kernel.run("1")
    kernel.until(lambda: len(lines(waiting)) >= 2)  # after five seconds, and again five seconds later
    told = lines(waiting)
    assert [kind for kind, _, _ in told[:2]] == ["display_data", "update_display_data"]
    assert "waits for 1 CPU and 1 GPU, but all of it is held by work that does not give it back by itself" in told[0][2]
    assert "actor Holder on GPU 0 (cell [2] line 7, " in told[0][2]
    assert len({display_id for _, display_id, _ in told}) == 1
    kernel.run("ray.kill(holder)\nray.get(ref)")
    kernel.until(lambda: lines(waiting)[-1][2] == "")
    assert lines(waiting)[-1][:2] == ("update_display_data", told[0][1])
    assert lines(other) == []


def test_a_request_that_can_never_be_met_is_told_at_once_and_each_time(kernel: Kernel) -> None:
    kernel.run("%load_ext nbaccel\n%accel_init num_gpus=1 num_cpus=1\nimport nbaccel as ray")
    kernel.run("f = ray.remote(num_gpus=8)(lambda: 1)")
    cells = []
    for _ in range(2):
        cell = kernel.run("ref = f.remote()\nready, rest = ray.wait([ref], timeout=0.5)\nlen(ready)")
        kernel.until(lambda cell=cell: bool(lines(cell)))  # type: ignore[misc]
        ((kind, _, text),) = lines(cell)
        assert kind == "display_data"
        assert "asks for 1 CPU and 8 GPUs, but this machine has 1 GPU, not 8" in text
        assert "fallback='cpu'" in text
        cells.append(cell)
    kernel.run("ray.cancel(ref)")
    kernel.until(lambda: lines(cells[1])[-1][2] == "")
    assert lines(cells[0])[-1][2]
    kernel.run("ray.shutdown()")
    kernel.until(lambda: lines(cells[0])[-1][2] == "")


def test_the_magics_say_what_the_functions_say(kernel: Kernel) -> None:
    kernel.run("%load_ext nbaccel\n%accel_init num_gpus=1 num_cpus=2")
    kernel.run(HOLD)
    kernel.run("ref = ray.remote(num_gpus=1)(lambda: 'done').remote()")
    why = "The GPU is busy: actor Holder on GPU 0 (cell [2] line 7"
    assert why in kernel.run("%accel_why ref").text
    assert why in kernel.run("print(ray.explain(ref))").stdout
    assert why in kernel.run("%accel_probe num_gpus=1").text
    assert why in kernel.run("ray.probe(num_gpus=1)").text
    assert "this machine has 1 GPU, not 4" in kernel.run("%accel_probe num_gpus=4").text
    assert "idle" in kernel.run("%accel_recycle").text

"""`nbaccel top` shows what the snapshot says, fits the screen and ends when the heads do."""

from __future__ import annotations

import io
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from rich.console import Console

from nbaccel.views import top
from nbaccel.views.snapshot import PublishedRow, Snapshot, TaskRow


def _drawn(pictures: list[Snapshot], now: float = 0.0, height: int = 40, width: int = 140) -> str:
    console = Console(file=io.StringIO(), width=width, height=height)
    console.print(top.page(pictures, now, console.size))
    file: Any = console.file
    return str(file.getvalue())


def test_a_device_line_says_which_how_full_whose_and_which_cell(busy_snapshot: Snapshot) -> None:
    lines = _drawn([busy_snapshot]).splitlines()
    first = next(line for line in lines if line.startswith("GPU 0"))
    assert "██████████ ● held" in first
    assert "GPUActor (pid 52420, cell [3] line 14, 8 s)" in first
    second = next(line for line in lines if line.startswith("GPU 1"))
    assert "░░░░" in second and "◐ shared" in second
    assert "83 %" in second and "12 GiB of 80 GiB" in second


def test_waiting_tasks_and_alerts_say_why(busy_snapshot: Snapshot) -> None:
    text = _drawn([busy_snapshot])
    assert "infer waits: waits for 1 GPU; both held" in text
    assert "GPU 1 keeps 9 GiB that no task holds" in text


def test_the_first_line_says_what_is_busy_and_equal_waits_are_one_line(busy_snapshot: Snapshot) -> None:
    waiting = busy_snapshot.tasks[1]
    busy_snapshot.tasks += [msgspec.structs.replace(waiting, task_id=f"t{number}") for number in (3, 4)]
    lines = _drawn([busy_snapshot]).splitlines()
    assert lines[0].rstrip() == "2 of 2 GPUs busy · 2 running · 1 waiting · 40 finished"
    assert [line.rstrip() for line in lines if "◌" in line] == ["◌ × 3 infer waits: waits for 1 GPU; both held"]


def test_those_that_failed_stand_before_those_that_wait(busy_snapshot: Snapshot) -> None:
    busy_snapshot.tasks.append(TaskRow("t9", "broken", "task", "FAILED"))
    text = _drawn([busy_snapshot])
    assert text.index("t1 ") < text.index("t9 ") < text.index("t2 ")


def test_the_page_fits_the_screen(busy_snapshot: Snapshot) -> None:
    busy_snapshot.tasks = [TaskRow(f"t{number}", f"task{number}", "task", "RUNNING") for number in range(200)]
    assert len(_drawn([busy_snapshot], height=30).splitlines()) <= 30


def test_a_narrow_screen_keeps_who_holds_what_on_one_line(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices[1].metrics = None
    lines = _drawn([busy_snapshot], width=80).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "GPUActor (pid 52420, cell [3] line 14" in next(line for line in lines if line.startswith("GPU 0"))


def test_ages_grow_between_pictures(busy_snapshot: Snapshot) -> None:
    assert "cell [3] line 14, 1 min 08 s" in _drawn([busy_snapshot], now=busy_snapshot.time + 60)


def test_markup_in_a_name_stays_text(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices[0].holders[0].name = "[red]x[/red]\x1b[31m"
    assert "[red]x[/red]\\x1b[31m" in _drawn([busy_snapshot])


@pytest.mark.parametrize("error", [None, ConnectionError("gone")])
def test_watching_ends_with_the_last_head(busy_snapshot: Snapshot, error: Exception | None) -> None:
    heads: list[Any] = [SimpleNamespace(session="s")]

    def pictures(record: Any) -> Iterator[Snapshot]:
        yield busy_snapshot
        heads.clear()
        if error is not None:
            raise error

    console = Console(file=io.StringIO(), width=140, height=40)
    assert top.watch(lambda: list(heads), pictures, 0.01, console) is False


def test_a_training_run_has_a_line(busy_snapshot: Snapshot) -> None:
    record = {
        "id": "run-1",
        "name": "mnist",
        "path": "/runs/mnist",
        "state": "running",
        "started_at": 1.0,
        "reports": 3,
    }
    busy_snapshot.published = [PublishedRow("run", "run-1", record, 0.0)]
    assert "● mnist running" in _drawn([busy_snapshot]) and "3 reports" in _drawn([busy_snapshot])

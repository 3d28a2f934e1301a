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
from nbaccel.views.snapshot import FunctionRow, PublishedRow, Snapshot, TaskRow
from nbaccel.views.top import HELP, SORTS, Endable, TopView


def _drawn(snapshots: list[Snapshot], now: float = 0.0, height: int = 40, width: int = 140) -> str:
    console = Console(file=io.StringIO(), width=width, height=height)
    console.print(top.page(snapshots, now, console.size))
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


def test_a_function_with_many_tasks_has_a_line_with_their_progress(busy_snapshot: Snapshot) -> None:
    busy_snapshot.functions = [FunctionRow("shard", running=12, failed=2, finished=346, waiting=140)]
    lines = [line.rstrip() for line in _drawn([busy_snapshot]).splitlines()]
    assert "▸ shard 346 of 500 · 12 running · 140 waiting · 2 failed" in lines


def test_the_page_fits_the_screen(busy_snapshot: Snapshot) -> None:
    busy_snapshot.tasks = [TaskRow(f"t{number}", f"task{number}", "task", "RUNNING") for number in range(200)]
    assert len(_drawn([busy_snapshot], height=30).splitlines()) <= 30


def test_a_narrow_screen_keeps_who_holds_what_on_one_line(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices[1].metrics = None
    lines = _drawn([busy_snapshot], width=80).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "GPUActor (pid 52420, cell [3] line 14" in next(line for line in lines if line.startswith("GPU 0"))


def test_ages_grow_between_snapshots(busy_snapshot: Snapshot) -> None:
    assert "cell [3] line 14, 1 min 08 s" in _drawn([busy_snapshot], now=busy_snapshot.time + 60)


def test_markup_in_a_name_stays_text(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices[0].holders[0].name = "[red]x[/red]\x1b[31m"
    assert "[red]x[/red]\\x1b[31m" in _drawn([busy_snapshot])


@pytest.mark.parametrize("error", [None, ConnectionError("gone")])
def test_watching_ends_with_the_last_head(busy_snapshot: Snapshot, error: Exception | None) -> None:
    heads: list[Any] = [SimpleNamespace(session="s")]

    def snapshots(record: Any) -> Iterator[Snapshot]:
        yield busy_snapshot
        heads.clear()
        if error is not None:
            raise error

    console = Console(file=io.StringIO(), width=140, height=40)
    assert top.watch(lambda: list(heads), snapshots, 0.01, console) is False


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


def test_sixty_four_devices_are_a_line_each_and_leave_room_for_tasks(busy_snapshot: Snapshot) -> None:
    free = msgspec.structs.replace(busy_snapshot.devices[0], holders=[], metrics=None)
    busy_snapshot.devices += [msgspec.structs.replace(free, id=str(number)) for number in range(2, 64)]
    whole = _drawn([busy_snapshot], height=150).splitlines()
    assert sum(line.startswith("GPU ") for line in whole) == 64
    lines = _drawn([busy_snapshot], height=40).splitlines()
    assert len(lines) <= 40 and any("train" in line for line in lines[20:])
    assert [line.rstrip() for line in lines if "more devices" in line] == ["44 more devices, 44 free (PgUp, PgDn)"]


def _page(snapshot: Snapshot, view: TopView, found: dict[str, list[TaskRow]] | None = None) -> str:
    console = Console(file=io.StringIO(), width=140, height=40)
    console.print(top.page([snapshot], 0.0, console.size, view, found))
    file: Any = console.file
    return str(file.getvalue())


def test_page_down_shows_the_other_devices(busy_snapshot: Snapshot) -> None:
    free = msgspec.structs.replace(busy_snapshot.devices[0], holders=[])
    busy_snapshot.devices += [msgspec.structs.replace(free, id=str(number)) for number in range(2, 64)]
    text = _page(busy_snapshot, TopView(first_device=1000))
    assert "GPU 63" in text and "GPU 0 " not in text


def test_tasks_and_actors_on_the_page_can_be_chosen_in_their_order(busy_snapshot: Snapshot) -> None:
    view = TopView()
    text = _page(busy_snapshot, view)
    tasks = [row.task_id for row in busy_snapshot.tasks]
    actors = [row.actor_id for row in busy_snapshot.actors if row.state != "DEAD"]
    assert sorted(row.id for row in view.rows if row.kind == "task") == sorted(tasks)
    assert [row.id for row in view.rows if row.kind == "actor"] == actors
    assert text.rstrip().splitlines()[-1].startswith("q quit")


def test_sorts_and_what_the_filter_found(busy_snapshot: Snapshot) -> None:
    busy_snapshot.tasks = [
        TaskRow("t1", "b", "task", "RUNNING", submitted_at=1.0, started_at=1.0),
        TaskRow("t2", "a", "task", "FINISHED", submitted_at=2.0, started_at=2.0, finished_at=99.0),
        TaskRow("t3", "c", "task", "PENDING_NODE_ASSIGNMENT", submitted_at=3.0),
    ]
    busy_snapshot.time = 50.0
    order = {}
    for sort in SORTS:
        view = TopView(sort=sort)
        _page(busy_snapshot, view)
        order[sort] = [row.id for row in view.rows if row.kind == "task"]
    assert order == {
        "state": ["t1", "t3", "t2"],
        "newest": ["t3", "t2", "t1"],
        "longest": ["t2", "t1", "t3"],
        "name": ["t2", "t1", "t3"],
    }
    found = {busy_snapshot.runtime.session: [TaskRow("t9", "older", "task", "FINISHED")]}
    assert "older" in _page(busy_snapshot, TopView(text="older"), found)


def test_help_lists_every_key(busy_snapshot: Snapshot) -> None:
    text = _page(busy_snapshot, TopView(mode="help"))
    assert all(key in text for key, _ in HELP) and "GPU 0" not in text


@pytest.mark.parametrize(("error", "said"), [(None, "Cancelled x."), (ConnectionError("gone"), "x goes on: gone")])
def test_what_became_of_an_order_is_said(busy_snapshot: Snapshot, error: Exception | None, said: str) -> None:
    def end(record: Any, kind: str, id: str) -> None:
        assert (record, kind, id) == ("record", "task", "t1")
        if error is not None:
            raise error

    newest: Any = {"s": ("record", busy_snapshot)}
    assert top._ended(Endable("s", "task", "t1", "x"), newest, end) == said
    assert top._ended(Endable("other", "task", "t1", "x"), newest, end) == "Its head has ended meanwhile."

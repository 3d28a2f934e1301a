"""What Ray hands over of its workers' output goes to the cell of the task, with Ray's prefix."""

from __future__ import annotations

import pytest

pytest.importorskip("ray")
from ray._private import ray_logging

from nbaccel.ray_engine.reports import output
from nbaccel.ray_engine.reports.output import ClientOutput, Output, split
from nbaccel.views import sinks

TASK = "ab" * 24


class Front:
    """Collects what is shown: (cell, stream, the line with its prefix)."""

    def __init__(self):
        self.shown = []

    def lines(self, message):
        for line in message.lines():
            self.shown.append((message.parent.decode(), message.stream, f"{message.prefix} {line.text}"))


@pytest.fixture
def front():
    for merger in (ray_logging.stdout_deduplicator, ray_logging.stderr_deduplicator):
        merger.flush()  # lines of tests before, which look alike
    before, front = sinks.installed, Front()
    sinks.install(front)
    yield front
    sinks.install(before)


@pytest.fixture
def rays():
    """What Ray's own handler is given."""
    given = []
    dispatcher = ray_logging.global_worker_stdstream_dispatcher
    dispatcher.add_handler("ray_print_logs", given.append)
    yield given
    dispatcher.remove_handler("ray_print_logs")


def cell_of(task_id):
    return {TASK: b"[1]"}.get(task_id, b"the last")


def place(key, task_id, show):
    show(cell_of(task_id))


def batch(*lines, **more):
    return {
        "ip": "10.0.0.1", "localhost": "10.0.0.1", "pid": "7", "job": "01000000", "is_err": False,
        "lines": list(lines), "actor_name": None, "task_name": f"train task={TASK}", **more,
    }  # fmt: skip


def emit(data):
    ray_logging.global_worker_stdstream_dispatcher.emit(data)


def test_lines_go_to_the_cell_of_their_task_and_rays_own_printing_rests(front, rays):
    shown = Output(place)
    shown.begin()
    emit(batch("one", "two"))
    emit(batch("bad", is_err=True))
    assert front.shown == [
        ("[1]", 1, "(train pid=7) one"),
        ("[1]", 1, "(train pid=7) two"),
        ("[1]", 2, "(train pid=7) bad"),
    ]
    assert rays == []


def test_the_prefix_names_the_actor_and_the_machine_where_that_is_another(front, rays):
    Output(place).begin()
    emit(batch("one", actor_name="Model", ip="10.0.0.2"))
    assert front.shown == [("[1]", 1, "(Model pid=7, ip=10.0.0.2) one")]


def test_lines_of_a_task_that_is_not_known_go_to_the_cell_that_ran_last(front, rays):
    Output(place).begin()
    emit(batch("one", task_name="train"))
    emit(batch("two", task_name=None))
    assert front.shown == [("the last", 1, "(train pid=7) one"), ("the last", 1, "(pid=7) two")]


@pytest.mark.parametrize("pid", ["raylet", "autoscaler", "gcs_server"])
def test_messages_of_rays_own_processes_keep_rays_way(front, rays, pid):
    Output(place).begin()
    emit(batch("node added", pid=pid, task_name=None))
    assert front.shown == []
    assert [data["lines"] for data in rays] == [["node added"]]


def test_what_rays_merging_held_back_of_its_own_processes_is_printed_with_the_next_lines_of_a_worker(
    front, rays, monkeypatch, capsys
):
    class Merger:
        def deduplicate(self, data):
            return [data, {"pid": "raylet", "is_err": False, "lines": ["a task will be retried"]}]

    monkeypatch.setattr(ray_logging, "stdout_deduplicator", Merger())
    monkeypatch.setattr(output.worker, "_worker_logs_enabled", True)
    Output(place).begin()
    emit(batch("one"))
    assert front.shown == [("[1]", 1, "(train pid=7) one")]
    assert "a task will be retried" in capsys.readouterr().out


def test_a_bar_of_rays_own_kind_keeps_rays_way_and_the_lines_beside_it_do_not(front, rays):
    Output(place).begin()
    bar = f'{{"{output.worker.RAY_TQDM_MAGIC}": 1}}'
    emit(batch("one", bar))
    assert [data["lines"] for data in rays] == [[bar]]
    assert [line for _, _, line in front.shown] == ["(train pid=7) one"]


def test_ray_prints_again_afterwards_without_the_ids(front, rays):
    shown = Output(place)
    shown.begin()
    shown.end()
    emit(batch("one"))
    assert front.shown == []
    assert [(data["task_name"], data["lines"]) for data in rays] == [("train", ["one"])]


def test_silence_that_was_asked_for_is_kept(front):
    shown = Output(place)
    shown.begin()
    emit(batch("one"))
    shown.end()
    emit(batch("two"))
    assert front.shown == []


def test_names_are_taken_apart():
    assert split(f"train task={TASK}") == ("train", TASK)
    assert split(f" task={TASK}") == ("", TASK)
    assert split("a task=1") == ("a task=1", "")
    assert split("") == ("", "")


def test_lines_that_ray_client_sends_are_taken_apart_too(front, capsys):
    shown = ClientOutput(place)
    shown._stream = Server()
    shown.show(-1, f"\x1b[36m(train task={TASK} pid=7, ip=10.0.0.2)\x1b[0m one\n(Model pid=8) two\n")
    assert front.shown == [("[1]", 1, "(train pid=7, ip=10.0.0.2) one")]
    assert capsys.readouterr().out == "(Model pid=8) two\n"


class Server:
    """Stands for Ray Client's stream of lines."""

    def stdstream(self, level, msg):
        print(msg, end="")

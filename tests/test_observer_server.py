"""A driver answers observers itself where its engine has no head of ours; the engine is a made-up one here."""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
from pathlib import Path

import msgspec
import pytest

from nbaccel import exceptions
from nbaccel.views import observing, sessions
from nbaccel.views.explanations import Explanation
from nbaccel.views.history.answers import TaskLogAnswer
from nbaccel.views.observer_lines import (
    QUESTIONS,
    AskPublisher,
    CancelTask,
    DoneLine,
    Explain,
    ExplanationsLine,
    FindTasks,
    ReadLogs,
    ReadRuns,
    ReadTaskLog,
    Recycle,
    RetryTask,
    StopHead,
    TaskLogLine,
    TasksLine,
)
from nbaccel.views.observer_server import DriverFacts, ObserverServer
from nbaccel.views.snapshot import Runtime, Snapshot, TaskRow
from nbaccel.views.task_filter import FoundTasks, TaskFilter
from tests.rig import wait_until

FACTS = DriverFacts("ray", "0.1.0", "3.12.1")


class MadeUpEngine:
    """Answers from memory, and writes down the orders."""

    def __init__(self) -> None:
        self.orders: list[tuple[object, ...]] = []
        self.watches: list[tuple[object, int]] = []  # (callback, rows) of each call of `watch`
        self.goes_on = threading.Event()
        self.goes_on.set()

    def watch(self, callback, rows):
        self.watches.append((callback, rows))
        if callback is not None:
            callback(self.snapshot())

    def snapshot(self):
        assert self.goes_on.wait(60)
        return Snapshot(Runtime("ray", "0.1.0", "3.12.1"), seq=1, tasks=[TaskRow("a1", "train", "task", "RUNNING")])

    def explain(self, what):
        return [Explanation(what or "a1", "train", "PENDING_NODE_ASSIGNMENT", "It waits.")]

    def tasks(self, wanted):
        return FoundTasks([TaskRow("a1", wanted.text, "task", "RUNNING")], 7)

    def history(self, asked):
        if isinstance(asked, ReadTaskLog):
            return TaskLogAnswer(0.5, over=False, pid=4)
        raise exceptions.RaySystemError("The cluster has gone.")

    def logs(self, task_id, *, tail):
        raise ZeroDivisionError

    def cancel_by_id(self, task_id, *, force=False):
        if task_id == "ff":
            raise ValueError("Task ff cannot be cancelled from here.")
        self.orders.append(("cancel", task_id, force))

    def ask(self, id, what):
        self.orders.append(("ask", id, what))

    def retry(self, task_id):
        return f"{task_id} again"

    def recycle(self):
        raise exceptions.EngineError("Ray offers no way to end its idle workers.")


@pytest.fixture
def engine():
    return MadeUpEngine()


@pytest.fixture
def server(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    server = ObserverServer(engine, engine.watch, FACTS)
    yield server
    server.close()


@pytest.fixture
def record(server):
    return server.open()


@pytest.fixture
def observer(record):
    with observing.connected(record) as observer:
        yield observer


def test_its_file_is_private_and_says_whose_it_is(record):
    path = sessions.directory() / f"nbaccel-{record.session}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    said = json.loads(path.read_text())
    assert (said["engine"], said["pid"], said["owner_pid"], said["protocol"]) == ("ray", os.getpid(), os.getpid(), 1)
    assert stat.S_IMODE(os.stat(record.directory).st_mode) == 0o700


def test_it_is_no_head_that_a_driver_could_join_or_a_command_could_stop(record):
    assert sessions.find() == []
    assert [found.session for found in sessions.find("ray")] == [record.session]
    assert Path(record.socket).exists(), "but its file is not stale"


def test_questions_are_answered_as_a_head_answers_them(observer):
    assert observer.ask({"ask": "snapshot"})["snapshot"]["runtime"]["engine"] == "ray"
    assert observer.answer(Explain("b2"), ExplanationsLine).explanations[0].id == "b2"
    found = observer.answer(FindTasks(TaskFilter(text="fit")), TasksLine)
    assert (found.rows[0].name, found.total) == ("fit", 7)
    assert observer.answer(ReadTaskLog("a1"), TaskLogLine).task_log.pid == 4


@pytest.mark.parametrize("ask", sorted(QUESTIONS))
def test_no_question_of_observers_is_forgotten(observer, ask):
    kind = QUESTIONS[ask]
    given = {field.name: "a1" for field in msgspec.structs.fields(kind) if field.required}
    said = observer.ask({"ask": ask, **given})
    assert "KeyError" not in said.get("message", ""), said


def test_orders_reach_the_engine(observer, engine):
    assert observer.answer(RetryTask("a1"), DoneLine).task_id == "a1 again"
    observer.answer(CancelTask("a1", force=True), DoneLine)
    observer.answer(AskPublisher("run", "stop"), DoneLine)
    assert engine.orders == [("cancel", "a1", True), ("ask", "run", "stop")]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (CancelTask("ff"), "Task ff cannot be cancelled from here."),
        (Recycle(), "EngineError: Ray offers no way to end its idle workers."),
        (StopHead(), r"on the Ray engine, and has no head that could end\. Call nbaccel\.shutdown\(\) there"),
        (ReadRuns(), "RaySystemError: The cluster has gone."),
        (ReadLogs("a1"), "ZeroDivisionError: it gave no reason"),
    ],
    ids=["refused", "not-on-ray", "no-head", "cluster-gone", "no-words"],
)
def test_what_the_engine_refuses_is_told_and_the_observer_may_go_on(observer, question, words):
    with pytest.raises(ValueError, match=words):
        observer.answer(question, DoneLine)
    assert observer.answer(Explain(), ExplanationsLine).explanations


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "not a line of JSON"),
        (b"[" * 30_000 + b"\n", "not a line of JSON"),
        (b'{"ask": "cancel"}\n', "needs the field 'task_id'"),
        (b'{"ask": "no such"}\n', "does not know the question"),
        (b" " * 70_000 + b"\n", "more than 65536 bytes"),
    ],
    ids=["cut", "deep", "incomplete", "unknown", "long"],
)
def test_a_line_that_is_none_is_answered(record, line, words):
    with socket.socket(socket.AF_UNIX) as sock, sock.makefile("rb") as lines:
        sock.settimeout(60)
        sock.connect(record.socket)
        sock.sendall(json.dumps({"token": record.token}).encode() + b"\n" + line)
        sock.shutdown(socket.SHUT_WR)
        assert json.loads(lines.readline())["kind"] == "welcome"
        assert words in json.loads(lines.readline())["message"]


@pytest.mark.parametrize("said", ['{"token": "wrong"}', '{"token": 7}', "{}", "no JSON", ""])
def test_who_does_not_show_the_token_learns_nothing(record, said):
    with socket.socket(socket.AF_UNIX) as sock, sock.makefile("rb") as lines:
        sock.settimeout(60)
        sock.connect(record.socket)
        sock.sendall(said.encode() + b'\n{"ask": "snapshot"}\n')
        assert json.loads(lines.readline())["message"] == "The token is missing or wrong."
        assert lines.readline() == b""


def test_the_engine_makes_snapshots_only_while_an_observer_watches_and_with_as_many_rows_as_asked(record, engine):
    with observing.connected(record) as first, observing.connected(record) as second:
        assert first.ask({"ask": "watch"})["kind"] == "snapshot"
        assert second.ask({"ask": "watch", "rows": 500})["kind"] == "snapshot"
        second.ask({"ask": "explain"})  # answered before the next line
        assert [rows for _, rows in engine.watches] == [0, 500]
    wait_until(lambda: engine.watches[-1] == (None, 0), "the last observer's end")


def test_a_change_is_sent_to_all_who_watch_and_no_change_to_nobody(record, engine):
    with observing.connected(record) as first, observing.connected(record) as second:
        for observer in (first, second):
            observer.ask({"ask": "watch"})
        callback = engine.watches[-1][0]
        same = engine.snapshot()
        same.seq, same.time = 2, 5.0
        callback(same)
        changed = engine.snapshot()
        changed.tasks[0].state, changed.seq = "FINISHED", 3
        callback(changed)
        for observer in (first, second):
            assert observer.read()["snapshot"]["tasks"][0]["state"] == "FINISHED", "not the one without a change"


def test_who_connects_while_the_cluster_is_slow_is_greeted_and_the_end_waits_for_nobody(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("nbaccel.views.observer_server.CLOSING_S", 0.05)
    server = ObserverServer(engine, engine.watch, FACTS)
    record = server.open()
    engine.goes_on.clear()
    try:
        with observing.connected(record) as first, observing.connected(record):
            first._sock.sendall(b'{"ask": "snapshot"}\n')
            server.close()
            with pytest.raises(ConnectionError):
                first.read()
    finally:
        engine.goes_on.set()
    wait_until(lambda: not any(thread.is_alive() for thread in server._threads), "the threads' end")


def test_the_end_of_the_cluster_ends_the_connections(observer, engine):
    observer.ask({"ask": "watch"})
    engine.watches[-1][0](None)
    with pytest.raises(ConnectionError):
        observer.read()


def test_nothing_is_left_after_the_end(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    server = ObserverServer(engine, engine.watch, FACTS)
    record = server.open()
    server.close()
    server.close()
    assert list(tmp_path.iterdir()) == []
    assert not os.path.exists(record.directory)


def test_a_forked_child_that_ends_leaves_the_file_of_its_parent(server, record):
    child = os.fork()
    if not child:
        server.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (sessions.directory() / f"nbaccel-{record.session}.json").exists()
    assert Path(record.socket).exists()


def test_without_a_place_for_the_file_the_reason_is_told_and_nothing_is_left(engine, tmp_path, monkeypatch):
    (tmp_path / "runtime").write_text("a file where a directory should be")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(OSError):
        ObserverServer(engine, engine.watch, FACTS).open()
    assert [path.name for path in tmp_path.iterdir()] == ["runtime"]

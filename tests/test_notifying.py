"""A sentence leaves the machine when a run, an experiment or a long task has ended; a failure of that is said once."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from nbaccel import notifying
from nbaccel.handles.options import init_options
from nbaccel.notifying import EndedWork, EndNotices
from nbaccel.views import sinks
from nbaccel.views.experiment_snapshot import ExperimentSnapshot
from nbaccel.views.run_snapshot import RunSnapshot
from nbaccel.views.snapshot import JobRow, PublishedRow, Runtime, Snapshot, TaskRow
from tests.rig import wait_until

NOW = 1_000_000.0


def task(id: str, state: str, **more: Any) -> TaskRow:
    return TaskRow(id, "train", "task", state, started_at=NOW + 1, **more)


def snapshot(*tasks: TaskRow, published: tuple[PublishedRow, ...] = (), jobs: tuple[JobRow, ...] = ()) -> Snapshot:
    runtime = Runtime(engine="local", version="", python="", pid=1, session="", job=1)
    return Snapshot(runtime=runtime, time=NOW + 200, tasks=list(tasks), published=list(published), jobs=list(jobs))


def record(kind: str, value: Any, job: int = 1) -> PublishedRow:
    return PublishedRow(kind, value.id, msgspec.to_builtins(value), NOW, job)


def test_a_long_task_is_told_once_and_again_if_it_runs_again() -> None:
    endings = EndedWork(NOW, 60.0)
    ended = task("a", "FAILED", finished_at=NOW + 126, cell="[7] line 3", why="ValueError: no")
    assert endings.seen(snapshot(task("a", "RUNNING"))) == []
    assert endings.seen(snapshot(ended)) == ["train has failed after 2 min 05 s · cell [7] line 3 · ValueError: no"]
    assert endings.seen(snapshot(ended)) == []
    assert endings.seen(snapshot(task("a", "RUNNING"))) == []
    assert len(endings.seen(snapshot(ended))) == 1


def test_a_short_task_one_of_another_notebook_and_one_that_had_ended_before_are_not_told() -> None:
    others = task("o", "FINISHED", finished_at=NOW + 126, job=2)
    rows = [task("s", "FINISHED", finished_at=NOW + 30), others, TaskRow("w", "waits", "task", "CANCELLED")]
    old = TaskRow("b", "train", "task", "FINISHED", started_at=NOW - 300, finished_at=NOW - 1)
    assert EndedWork(NOW, 60.0).seen(snapshot(*rows, old, jobs=(JobRow(1, "a.ipynb"), JobRow(2, "b.ipynb")))) == []
    unseen = task("u", "FINISHED", finished_at=NOW + 126)  # its row was left out while it ran
    assert EndedWork(NOW, 60.0).seen(snapshot(unseen)) == ["train has finished after 2 min 05 s"]


def test_runs_and_experiments_are_told_however_short_they_are() -> None:
    endings = EndedWork(NOW, 60.0)
    run = RunSnapshot("r", "mnist", "/runs/mnist", "running", started_at=NOW + 1)
    experiment = ExperimentSnapshot("e", "sweep", "/runs/sweep", started_at=NOW + 1, counts={"done": 3})
    assert endings.seen(snapshot(published=(record("run", run), record("experiment", experiment)))) == []
    run = msgspec.structs.replace(run, state="finished", ended_at=NOW + 10)
    experiment = msgspec.structs.replace(experiment, state="stopped", ended_at=NOW + 11)
    rows = record("run", run), record("experiment", experiment)
    trial = TaskRow("t", "sweep a_0", "task", "FINISHED", started_at=NOW, finished_at=NOW + 99, function="run_trial")
    assert endings.seen(snapshot(trial, published=rows)) == [
        "✓ mnist finished 9 s · no report yet", "⊘ sweep stopped 10 s · 3 trials ended",
    ]  # fmt: skip
    assert endings.seen(snapshot(published=rows)) == []


def test_what_is_known_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbaccel.notifying._MOST_KNOWN", 2)
    endings = EndedWork(NOW, 0.0)
    rows = [task(str(number), "FINISHED", finished_at=NOW + 100) for number in range(4)]
    assert len(endings.seen(snapshot(*rows))) == 4
    assert endings.seen(snapshot(*rows)) == []  # they ended before it was forgotten that they were told


# ---- sending


class FakeEngine:
    """An engine whose snapshots the test gives."""

    def __init__(self) -> None:
        self.show: Any = None

    def watch(self, callback: Any, *, metrics: bool, reader: str) -> None:
        assert (metrics, reader) == (False, "notify")
        self.show = callback

    def snapshot(self) -> Snapshot:
        return snapshot()


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(sinks, "installed", SimpleNamespace(notice=lambda notice: lines.append(notice.message)))
    return lines


@pytest.fixture
def hook() -> Iterator[Any]:
    """A server that keeps what is posted, and answers with `status`."""
    server: Any = HTTPServer(("127.0.0.1", 0), Hook)
    server.bodies, server.status = [], 200
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(server.status)
        self.end_headers()

    def log_message(self, *arguments: Any) -> None: ...


def ends(engine: FakeEngine, *ids: str) -> None:
    engine.show(snapshot(*(task(id, "FINISHED", finished_at=NOW + 5e9) for id in ids)))


def test_an_address_gets_a_text(hook: Any, said: list[str]) -> None:
    engine: Any = FakeEngine()
    notices = EndNotices(engine, [f"http://127.0.0.1:{hook.server_port}/T0/secret"], None)
    ends(engine, "a")
    notices.end(engine)
    (body,) = hook.bodies
    assert list(body) == ["text"] and body["text"].startswith("train has finished after") and said == []


def test_a_failure_is_said_once_and_without_the_path(hook: Any, said: list[str]) -> None:
    hook.status = 500
    engine: Any = FakeEngine()
    notices = EndNotices(engine, [f"http://127.0.0.1:{hook.server_port}/T0/secret"], None)
    ends(engine, "a", "b")
    notices.end(engine)
    assert len(hook.bodies) == 2
    (words,) = said
    assert words.startswith("127.0.0.1 did not take a notice (HTTP Error 500") and "secret" not in words


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import sys; sys.exit('no screen')", r"\(exit status 1: no screen\)"),
        ("import time; time.sleep(60)", r"\(it has not ended within 0\.2 s\)"),
    ],
)
def test_a_command_that_fails_or_hangs_is_said(
    said: list[str], monkeypatch: pytest.MonkeyPatch, program: str, words: str
) -> None:
    monkeypatch.setattr(notifying, "SEND_S", 0.2 if "sleep" in program else 30.0)
    engine: Any = FakeEngine()
    notices = EndNotices(engine, [sys.executable, "-c", program], None)
    ends(engine, "a")
    wait_until(lambda: said, "the notice")
    notices.end(engine)
    assert re.search(words, said[0])


def test_a_script_that_ends_without_shutdown_still_tells_its_run(tmp_path: Path) -> None:
    told = tmp_path / "told"
    tell = f"import sys; open({str(told)!r}, 'a').write(sys.argv[1] + chr(10))"
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, nbaccel\n"
        f"nbaccel.init(num_cpus=1, notify=[sys.executable, '-c', {tell!r}], notify_after_s=0)\n"
        "nbaccel.get(nbaccel.remote(lambda: 1).options(name='quick').remote())\n"
    )
    subprocess.run([sys.executable, script], check=True, timeout=120)
    assert told.read_text().startswith("quick has finished after 0 s") and told.read_text().count("\n") == 1


@pytest.mark.parametrize("wrong", ["ftp://somewhere", "no-such-program-here now", [], ""])
def test_what_cannot_be_told_is_refused_at_init(wrong: Any) -> None:
    with pytest.raises(ValueError, match="takes an http or https address or a command of this machine"):
        init_options(notify=wrong)
    with pytest.raises(TypeError, match="a list of strings"):
        init_options(notify=3)


def test_a_command_line_is_divided_into_words() -> None:
    assert init_options(notify=f"{sys.executable} -c 'print(1)'").notify == (sys.executable, "-c", "print(1)")
    assert init_options(notify="https://hooks.example.com/a b").notify == ("https://hooks.example.com/a b",)

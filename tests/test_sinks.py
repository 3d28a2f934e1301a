"""What workers print, as a terminal and a file show it."""

from __future__ import annotations

import io
import subprocess
import sys
import time

import msgspec
import pytest

from nbaccel.views.run_snapshot import RunSnapshot
from nbaccel.views.sinks import Printed, Sinks
from tests.rig import DEADLINE_S


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *texts: bytes) -> str:
    monkeypatch.setenv("RAY_COLOR_PREFIX", "0")
    monkeypatch.setattr(sys, "stdout", stream)
    sink = Sinks()
    for text in texts:
        sink.lines(Printed("f", 7, 1, text))
    return stream.getvalue()


def test_each_line_has_the_prefix_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), b"one\n\ntwo\n", b"no end") == (
        "(f pid=7) one\n(f pid=7) \n(f pid=7) two\n(f pid=7) no end\n"
    )


def test_a_bar_is_drawn_where_it_stands_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = shown(
        monkeypatch, Terminal(), b"\r10 %", b"\r20 %", b"said\n", b"\r30 %", b"\r100 %\n", b"\r1 %", b"\n", b"x\n"
    )
    assert drawn == (
        "\r(f pid=7) 10 %\r(f pid=7) 20 %\n(f pid=7) said\n"
        "\r(f pid=7) 30 %\r(f pid=7) 100 %\n"
        "\r(f pid=7) 1 %\n(f pid=7) x\n"
    )


def test_a_file_has_the_end_of_a_bar_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), b"\r10 %", b"\r20 %\r100 %\n", b"x\n") == "(f pid=7) 100 %\n(f pid=7) x\n"


def test_a_run_has_a_line_for_each_state_and_in_a_file_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    sink = Sinks()
    run = RunSnapshot(id="run-1", name="mnist", path="/runs/mnist", started_at=time.time())
    for state, reports in (("waiting", 0), ("running", 0), ("running", 1), ("running", 2), ("finished", 3)):
        sink.run(msgspec.structs.replace(run, state=state, reports=reports))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1:4] for line in lines] == [
        ["◌", "mnist", "waiting"],
        ["●", "mnist", "running"],
        ["✓", "mnist", "finished"],
    ]
    assert lines[-1].endswith("3 reports")


def test_a_script_that_starts_a_second_cluster_by_itself_gets_no_line() -> None:
    program = (
        "import nbaccel as ray\n"
        "for _ in range(2):\n"
        "    print(ray.get(ray.remote(abs).remote(-1)))\n"
        "    ray.shutdown()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    assert (ran.stdout, ran.stderr) == ("1\n1\n", "")

"""What still holds the handles that a user has forgotten is named, and lets go of them on request."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

import nbaccel
from nbaccel.notebook import held_handles
from nbaccel.notebook.output import CellOutput
from nbaccel.notebook.settings import NotebookSettings
from nbaccel.views.sinks import Notice
from tests.notebook.shells import shell_with
from tests.rig import wait_until

WAITS = "Task ping waits for 1 GPU. The GPU is busy: actor A on GPU 0."


@pytest.fixture(scope="module")
def cluster() -> Iterator[InteractiveShell]:
    with shell_with(num_cpus=2, num_gpus=1) as shell:
        _run(shell, "@nbaccel.remote(num_gpus=1)\nclass A:\n    def ping(self):\n        return 'pong'")
        yield shell


@pytest.fixture
def shell(cluster: InteractiveShell) -> Iterator[InteractiveShell]:
    yield cluster
    held_handles.release(cluster)


def _run(shell: InteractiveShell, code: str) -> None:
    shell.run_cell(code, store_history=True)


def _gpu_comes_back() -> None:
    wait_until(lambda: gc.collect() >= 0 and nbaccel.available_resources().get("GPU") == 1, "the GPU")


def test_what_a_variable_names_is_not_forgotten(shell: InteractiveShell) -> None:
    _run(shell, "a = A.remote()\na")
    assert held_handles.forgotten(shell) == {}
    assert held_handles.added_to(WAITS, shell) == WAITS
    assert held_handles.release(shell) == []
    _run(shell, "del a")
    held_handles.release(shell)
    _gpu_comes_back()


@pytest.mark.parametrize("shown", ["a", "[a]", "{'agents': (a,)}", "Pool(a)", "partial(print, a)"])
def test_an_output_that_reaches_an_actor_is_named_and_let_go(shell: InteractiveShell, shown: str) -> None:
    _run(
        shell,
        "from functools import partial\nclass Pool:\n    def __init__(self, a):\n        self.a = a; self.me = self",
    )
    _run(shell, f"a = A.remote()\n{shown}")
    number = max(shell.user_ns["Out"])
    _run(shell, "del a")
    said = held_handles.added_to(WAITS, shell)
    assert f"An actor A that no variable names is still held by Out[{number}], _: %accel_release" in said
    assert held_handles.added_to("Task f waits for 1 GPU. The GPU is busy: task g.", shell).endswith("task g.")
    assert held_handles.release(shell) == [f"Out[{number}]", "_"]
    assert number not in shell.user_ns["Out"]
    _gpu_comes_back()


def test_the_frames_of_the_last_error_are_named_and_let_go(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(shell, "def fails():\n    a = A.remote()\n    nbaccel.get(a.ping.remote())\n    return {}['missing']")
    _run(shell, "kept = 5\nfails()")
    assert "still held by the last error: %accel_release" in held_handles.added_to(WAITS, shell)
    _run(shell, "%accel_release")
    assert "Let go of what the last error held." in capsys.readouterr().out
    assert shell.user_ns["kept"] == 5
    assert not hasattr(sys, "last_traceback")
    _gpu_comes_back()
    _run(shell, "%accel_release")
    assert "Nothing is held beside your variables." in capsys.readouterr().out


def test_a_function_that_was_sent_with_an_actor_is_named_and_sent_again(shell: InteractiveShell) -> None:
    _run(shell, "a = A.remote()\n@nbaccel.remote\ndef use():\n    return nbaccel.get(a.ping.remote())")
    _run(shell, "said = nbaccel.get(use.remote())")
    assert "use was sent" not in held_handles.added_to(WAITS, shell)
    _run(shell, "a = None")
    assert "use was sent with a handle that no variable names, and holds it" in held_handles.added_to(WAITS, shell)
    assert held_handles.release(shell) == ["use"]
    _gpu_comes_back()
    _run(shell, "a = A.remote()\nagain = nbaccel.get(use.remote(), timeout=60)")
    assert shell.user_ns["again"] == "pong"
    _run(shell, "del a, use")
    _gpu_comes_back()


def test_the_note_under_a_cell_says_what_holds_the_actor() -> None:
    sent: list[str] = []
    output = CellOutput(
        lambda *message: sent.append(str(message)),
        NotebookSettings(),
        explained=lambda sentence: f"{sentence} Out[7] holds it.",
    )
    output.notice(Notice("waiting", "f waits for 1 GPU. The GPU is busy.", b"", b"task"))
    assert "Out[7] holds it." in sent[-1]
    output.notice(Notice("waiting", "", b"", b"task"))  # it waits no more
    assert "Out[7] holds it." not in sent[-1]

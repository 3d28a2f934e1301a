"""The cell and line that submit are known, in the cell itself, in functions it calls and in threads it starts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbaccel import engine
from nbaccel.notebook import cells


class KernelShell(InteractiveShell):  # type: ignore[misc]
    """A shell that has the message which ran the cell, as a kernel's has."""

    def get_parent(self) -> dict[str, Any]:
        header = {"msg_id": "msg-a", "session": "s", "date": object()}
        return {"header": header, "metadata": {"cellId": "cell-a"}}


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    shell = KernelShell()
    cells.install(shell)
    shell.user_ns["where"] = engine.cell_source
    yield shell
    engine.cell_source = None
    shell.history_manager.end_session()


def _run(shell: InteractiveShell, code: str) -> Any:
    result = shell.run_cell(code, store_history=True)
    result.raise_error()
    return result.result


def test_a_task_knows_cell_and_line(shell: InteractiveShell) -> None:
    label, parent = _run(shell, "x = 1\n\nwhere()")
    assert label == "[1] line 3"
    assert json.loads(parent) == {"header": {"msg_id": "msg-a", "session": "s"}, "cell_id": "cell-a"}
    assert _run(shell, "where()")[0] == "[2] line 1"


def test_the_line_is_that_of_the_cell_and_not_of_the_function_that_it_calls(shell: InteractiveShell) -> None:
    _run(shell, "def submit():\n    x = 2\n    return where()")
    assert _run(shell, "y = 1\n\nsubmit()")[0] == "[2] line 3"


def test_a_thread_started_by_a_cell_names_the_cell(shell: InteractiveShell) -> None:
    code = "import threading\nfound = []\nthread = threading.Thread(target=lambda: found.append(where()))\n"
    _run(shell, f"{code}thread.start()\nthread.join()")
    assert _run(shell, "found")[0][0] == "[1]"


def test_installing_twice_keeps_one_watch(shell: InteractiveShell) -> None:
    assert cells.install(shell) is cells.install(shell)
    assert _run(shell, "where()")[0] == "[1] line 1"

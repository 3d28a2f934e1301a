"""A cell's body on a node that has neither nbaccel nor IPython: what runs it travels along."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import cloudpickle
import pytest

from nbaccel.notebook import cell_run
from nbaccel.notebook.cell_run import prepare

# Reads what to run, writes what it left.
BARE_NODE = """
import sys
sys.modules["nbaccel"] = sys.modules["IPython"] = None
import pickle
import cloudpickle
run_body, body = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(cloudpickle.dumps(run_body(body)))
"""


@pytest.fixture(autouse=True)
def _travels_by_itself() -> Iterator[None]:
    cloudpickle.register_pickle_by_value(cell_run)
    yield
    cloudpickle.unregister_pickle_by_value(cell_run)


def _on_a_bare_node(code: str, **namespace: Any) -> subprocess.CompletedProcess[bytes]:
    body = prepare(code, "<cell>", namespace, keep=True)
    return subprocess.run(
        [sys.executable, "-c", BARE_NODE],
        input=cloudpickle.dumps((cell_run.accel, body)),
        capture_output=True,
        check=False,
    )


def _left(code: str, **namespace: Any) -> cell_run.Outcome:
    done = _on_a_bare_node(code, **namespace)
    assert done.returncode == 0, done.stderr.decode()
    outcome = cloudpickle.loads(done.stdout)
    assert isinstance(outcome, cell_run.Outcome)
    return outcome


def test_names_and_the_value_of_the_last_line_come_back() -> None:
    outcome = _left("y = x + 1\ny * 2", x=1)
    assert (outcome.y, outcome.result) == (2, 4)
    assert cell_run.shown(outcome) == [({"text/plain": "4"}, {})]


def test_values_show_what_they_say_of_themselves_in_order() -> None:
    code = (
        "class Table:\n    def _repr_html_(self):\n        return '<b>rich</b>'\n"
        "    def _repr_png_(self):\n        return b'png'\n    def __repr__(self):\n        return 'a table'\n"
        "display(Table(), 1)\nTable()"
    )
    shown = [data for data, _ in cell_run.shown(_left(code))]
    assert shown[0] == {"text/plain": "a table", "text/html": "<b>rich</b>", "image/png": "cG5n"}
    assert shown[1] == {"text/plain": "1"}
    assert shown[2] == shown[0]


def test_a_class_shows_its_name_and_is_not_asked_to_draw_itself() -> None:
    outcome = _left("class Table:\n    def _repr_html_(self):\n        return 'no'\nTable")
    assert [list(data) for data, _ in cell_run.shown(outcome)] == [["text/plain"]]


def test_magics_in_the_body_say_what_is_missing() -> None:
    done = _on_a_bare_node("get_ipython().system('ls')")
    assert b"This node has no IPython, which magics and shell commands in the body need" in done.stderr

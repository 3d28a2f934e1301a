"""A cell's text as a task: it gets what it reads, and gives back what it assigned and showed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cloudpickle
import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbaccel.notebook import cell_run
from nbaccel.notebook.cell_body import prepare
from nbaccel.notebook.cell_run import Outcome


@pytest.fixture(autouse=True)
def _no_shell_is_left() -> Iterator[None]:
    yield
    InteractiveShell.clear_instance()


def _run(code: str, **namespace: Any) -> Outcome:
    """Through pickle and back, as a worker sees it."""
    body = cloudpickle.loads(cloudpickle.dumps(prepare(code, "<cell>", namespace, keep=True)))
    outcome = cloudpickle.loads(cloudpickle.dumps(cell_run.accel(body)))
    assert isinstance(outcome, Outcome)
    return outcome


def test_what_the_body_reads_is_sent_and_nothing_else() -> None:
    body = prepare("y = x + len(z)", "<cell>", {"x": 1, "z": [], "unused": object(), "y": 5}, keep=True)
    assert body.reads == {"x": 1, "z": []}
    assert body.wants == ("y",)


def test_what_the_body_assigns_comes_back() -> None:
    outcome = _run("y = x + 1\ndef double(a):\n    return 2 * a\nsquares = [i * i for i in range(3)]", x=1)
    assert (outcome.y, outcome.double(4), outcome.squares) == (2, 8, [0, 1, 4])
    with pytest.raises(AttributeError, match="The cell assigned no 'i'; it assigned double, squares, y"):
        _ = outcome.i


def test_a_name_that_is_read_and_written_starts_with_the_notebooks_value() -> None:
    assert _run("x = x + 1\nx += 1", x=1).x == 3
    assert _run("x += 1", x=1).x == 2


def test_the_value_of_the_last_line_is_shown_and_kept() -> None:
    outcome = _run("x = 20\nx + 1")
    assert outcome.result == 21
    assert [data["text/plain"] for data, _ in outcome.shown] == ["21"]
    assert _run("x = 20\nx + 1;").shown == []


def test_rich_output_comes_back_in_order() -> None:
    code = "from IPython.display import HTML, display\ndisplay(HTML('<b>one</b>'))\nHTML('<i>two</i>')"
    assert [data["text/html"] for data, _ in _run(code).shown] == ["<b>one</b>", "<i>two</i>"]


def test_an_error_names_the_line_of_the_cell() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        cell_run.accel(prepare("x = 1\nx / 0", "<cell 7>", {}, keep=False))
    frame = caught.traceback[-1]
    assert (str(frame.path), frame.lineno) == ("<cell 7>", 1)


def test_a_body_that_is_no_python_is_a_syntax_error_before_anything_is_sent() -> None:
    for code in ("x = = 1", "return 1"):
        with pytest.raises(SyntaxError):
            prepare(code, "<cell>", {}, keep=True)


def test_the_value_of_the_last_line_comes_back_where_nothing_is_assigned() -> None:
    assert _run("1 + 1").result == 2


def test_a_body_may_await_as_a_cell_may() -> None:
    code = (
        "import asyncio\n"
        "_early = asyncio.ensure_future(asyncio.sleep(0, 'early'))\n"
        "late = await asyncio.sleep(0, 'late')\n"
        "[late, await _early]"
    )
    assert _run(code).result == ["late", "early"]


def test_a_body_may_run_a_loop_of_its_own() -> None:
    assert _run("import asyncio\nasyncio.run(asyncio.sleep(0, 'done'))").result == "done"


def test_annotations_of_a_body_are_values_as_in_a_cell() -> None:
    assert _run("def f(x: int): ...\nf.__annotations__").result == {"x": int}

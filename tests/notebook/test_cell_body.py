"""A cell's text as a task: it gets what it reads, and gives back what it assigned and showed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cloudpickle
import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbaccel.notebook import cell_run
from nbaccel.notebook.cell_run import Outcome, prepare


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
    assert [data["text/plain"] for data, _ in cell_run.shown(outcome)] == ["21"]
    assert cell_run.shown(_run("x = 20\nx + 1;")) == []


def test_rich_output_comes_back_in_order() -> None:
    code = "from IPython.display import HTML, display\ndisplay(HTML('<b>one</b>'))\nHTML('<i>two</i>')"
    assert [data["text/html"] for data, _ in cell_run.shown(_run(code))] == ["<b>one</b>", "<i>two</i>"]


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


def test_a_variable_of_the_notebook_that_hides_a_builtin_is_sent() -> None:
    namespace = {"id": 5, "input": [1, 2], "max": max, "unused": object()}
    assert prepare("x = [id, input, max]", "<cell>", namespace, keep=True).reads == {"id": 5, "input": [1, 2]}
    assert _run("x = sum(input) + id", id=5, input=[1, 2]).x == 8


def test_what_ipython_puts_into_a_notebook_is_not_sent() -> None:
    shell = InteractiveShell.instance()
    hidden = {name: shell.user_ns[name] for name in ("exit", "quit", "open", "get_ipython")}
    assert prepare("exit, quit, open, get_ipython", "<cell>", hidden, keep=True).reads == {}


def test_any_name_may_be_assigned() -> None:
    outcome = _run("names = ['a']\nshown = 1\nlost = 2\nresult = 3")
    assert (outcome.names, outcome.shown, outcome.lost, outcome.result) == (["a"], 1, 2, 3)
    assert {"names", "shown", "result"} <= set(dir(outcome))


def test_names_that_a_pattern_binds_come_back() -> None:
    code = "match {'a': [1, 2, 3], 'b': 4}:\n    case {'a': [first, *others] as all, **rest}:\n        pass"
    outcome = _run(code)
    assert (outcome.first, outcome.others, outcome.all, outcome.rest) == (1, [2, 3], [1, 2, 3], {"b": 4})


def test_a_value_that_cannot_be_sent_stays_and_the_others_come_back() -> None:
    outcome = _run(
        "import threading\nlock = threading.Lock()\nwith open('/dev/null') as file:\n    n = 3\n(x for x in ())"
    )
    assert outcome.n == 3
    assert sorted(cell_run.lost(outcome)) == ["file", "lock", "result"]
    with pytest.raises(AttributeError, match=r"'lock' did not come back: cannot pickle '_thread.lock' object"):
        _ = outcome.lock


def test_arrays_come_back_and_objects_in_them_are_tried() -> None:
    code = "import numpy, threading\nplain = numpy.zeros(3)\nodd = numpy.array([threading.Lock()], dtype=object)"
    outcome = _run(code)
    assert outcome.plain.tolist() == [0, 0, 0]
    assert list(cell_run.lost(outcome)) == ["odd"]


def test_a_display_that_is_updated_is_shown_once() -> None:
    code = (
        "from IPython.display import display\nfirst = display('one', display_id=True)\ndisplay('between')\n"
        "first.update('two')\nfirst.update('three');"
    )
    assert [data["text/plain"] for data, _ in cell_run.shown(_run(code))] == ["'three'", "'between'"]


@pytest.mark.parametrize("code", ["import sys\nsys.exit(3)", "exit(3)", "raise SystemExit(3)"])
def test_a_cell_that_ends_itself_is_an_error_and_ends_no_process(code: str) -> None:
    with pytest.raises(RuntimeError, match=r"ended itself with SystemExit\(3\): the rest of it did not run"):
        _run(code)


def test_a_cell_that_asks_for_input_is_told_where_to_ask() -> None:
    with pytest.raises(EOFError, match=r"cannot ask for input \(your name\)\. Ask in a cell of its own"):
        _run("input('your name')")

"""A task's error in a notebook: the user's frames with their lines, where it ran, and nothing of nbaccel's own."""

from __future__ import annotations

import pickle
import re
import sys
import traceback
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbaccel.exceptions import RayTaskError, WorkerCrashedError
from nbaccel.notebook import magics, tracebacks


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell()
    tracebacks.install(shell)
    yield shell
    shell.history_manager.end_session()


def _error(filename: str) -> RayTaskError:
    text = f'Traceback (most recent call last):\n  File "{filename}", line 2, in train\nValueError: bad batch'
    facts = {"pid": 11, "device_ids": {"GPU": ["1"]}, "cell": "[7] line 3"}
    return RayTaskError("train", text, ValueError("bad batch"), **facts)  # type: ignore[arg-type]


def test_an_error_about_a_read_only_array_says_what_to_do_and_others_stay_as_they_are(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nbaccel.engine._current", object())
    shell.run_cell("raise ValueError('assignment destination is read-only')")
    assert capsys.readouterr().out.count("array = array.copy()") == 1
    result = shell.run_cell("raise ValueError('something else')")
    assert isinstance(result.error_in_exec, ValueError)
    shown = capsys.readouterr().out
    assert "something else" in shown and "array.copy()" not in shown


START = "import nbaccel as ray\nfrom nbaccel import train, tune\n"
DEFINED = """
@ray.remote
def f(x):
    return x
"""


@pytest.mark.parametrize(
    "code",
    [
        "@ray.remote(num_gpu=1)\ndef g(): pass",
        'ray.init(num_gpus="two")',
        "f.remote(1, 2, 3)",
        "f.options(num_gpu=1)",
        "f(1)",
        'train.ScalingConfig(num_workers="two")',
    ],
)
def test_a_wrong_call_is_shown_without_frames_of_ours(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    shell.run_cell(START + DEFINED)
    result = shell.run_cell(code)
    shown = capsys.readouterr().out
    assert isinstance(result.error_in_exec, (TypeError, ValueError)) and str(result.error_in_exec)[:40] in shown
    assert "/nbaccel/" not in shown and code.splitlines()[0] in re.sub(r"\x1b\[[\d;]*m", "", shown)


def test_an_error_of_the_users_own_code_below_ours_keeps_all_frames(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(START + "from nbaccel.views.wording import text_of\nfrom nbaccel.train.journal import best\n")
    shell.run_cell("class Odd(list):\n    def __iter__(self):\n        raise ValueError('odd')\nbest(Odd(), None)")
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert "raise ValueError('odd')" in shown and "journal.py" in shown


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("train.ScalingConfig(num_worker=2)", "Did you mean num_workers? ScalingConfig takes "),
        ("tune.TuneConfig(num_sample=2)", "Did you mean num_samples?"),
        ("f.option", "Did you mean options?"),
        ("ray.initt", "Did you mean init?"),
        ("tune.Tunr", "Did you mean Tuner?"),
        ("ref.result", "nbaccel.get(ref) waits for it"),
        ("ref + 1", "nbaccel.get(ref) waits for it"),
        ("for each in ref: pass", "nbaccel.get(ref) waits for it"),
        ("len(ref)", "nbaccel.get(ref) waits for it"),
        ("%accel_help", "nbaccel's magics are %accel"),
        ("%accel_task", "Did you mean %accel_tasks?"),
    ],
)
def test_an_error_about_a_name_or_a_ref_says_what_was_probably_meant(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], code: str, hint: str
) -> None:
    magics.register(shell)
    shell.run_cell(START + DEFINED + "from nbaccel.handles.refs import ObjectRef\nref = object.__new__(ObjectRef)")
    shell.run_cell(code)
    shown = capsys.readouterr()
    assert hint in re.sub(r"\x1b\[[\d;]*m", "", shown.out + shown.err)


def test_a_name_that_others_do_not_have_gets_no_note(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    for code in ("[].appendd", "import os; os.pathh", "print(endd=1)", "dict().result", "int('x')"):
        shell.run_cell(code)
    shown = capsys.readouterr().out
    assert "Did you mean append" not in shown and "nbaccel" not in shown


def _cell_file(shell: InteractiveShell) -> str:
    shell.run_cell("def train():\n    raise ValueError('bad batch')", store_history=True)
    return str(shell.user_ns["train"].__code__.co_filename)


def test_the_failing_line_of_a_cell_is_shown_though_the_worker_does_not_know_it(shell: InteractiveShell) -> None:
    lines = tracebacks.render(_error(_cell_file(shell)), shell)
    assert lines[1:3] == ["  Cell In[1], line 2, in train", "    raise ValueError('bad batch')"]
    assert lines[-3] == "in train, on GPU 1, pid 11, from cell [7] line 3"
    assert re.sub(r"\x1b\[\d+m", "", lines[-1]) == "ValueError: bad batch"


def test_frames_of_ours_between_those_of_the_user_are_left_out() -> None:
    ours = tracebacks.__file__
    text = (
        f'Traceback (most recent call last):\n  File "{ours}", line 1, in accel\n    result = run()\n'
        '             ^^^^^\n  File "train.py", line 2, in <module>\n    step()\n'
        f'  File "{ours}", line 3, in get\n  File "train.py", line 9, in step\n    1 / 0\nZeroDivisionError: no'
    )
    lines = tracebacks.render(RayTaskError("f", text, ZeroDivisionError("no")))
    assert lines[:5] == [
        "Traceback (most recent call last):",
        '  File "train.py", line 2, in <module>',
        "    step()",
        '  File "train.py", line 9, in step',
        "    1 / 0",
    ]


def test_a_cell_that_fails_shows_it_once_and_without_our_frames(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["error"] = _error(_cell_file(shell)).as_instanceof_cause()
    result = shell.run_cell("x = 1\nraise error", store_history=True)
    shown = capsys.readouterr().out
    assert isinstance(result.error_in_exec, ValueError)
    assert shown.count("bad batch") == 2  # the source line and the message
    assert "raised at Cell In[2], line 2: raise error" in shown
    assert "tracebacks.py" not in shown


def test_verbose_mode_shows_everything(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["error"] = _error("train.py")
    shell.run_line_magic("xmode", "Verbose")
    shell.run_cell("raise error")
    assert "RayTaskError" in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["Context", "Verbose", "Plain"])
def test_each_cause_is_shown_once_with_the_frames_of_the_task(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    try:
        raise ValueError("bad batch") from KeyError("lost key")
    except ValueError as raised:
        text = "".join(traceback.format_exception(raised)).rstrip()
        error = RayTaskError("train", text, raised).as_instanceof_cause()
    cause = error.__cause__
    shell.user_ns["error"] = error
    shell.run_line_magic("xmode", mode)
    capsys.readouterr()
    shell.run_cell("raise error")
    assert capsys.readouterr().out.count("KeyError") == 2  # the line of the source, and what was raised
    assert error.__cause__ is cause and type(cause) is KeyError


STOPPED = compile(
    "def wait():\n    def deeper():\n        raise KeyboardInterrupt\n    deeper()", tracebacks.__file__, "exec"
)
CELL = "def mine():\n    wait()\nmine()"


def test_a_stopped_wait_ends_at_the_users_line(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    exec(STOPPED, shell.user_ns)
    shell.run_cell(CELL, store_history=True)
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert "----> 3 mine()" in shown and "----> 2     wait()" in shown
    assert "deeper" not in shown and "tracebacks.py" not in shown
    assert shown.rstrip().endswith("KeyboardInterrupt:")


def test_verbose_mode_shows_where_a_wait_was_stopped(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(STOPPED, shell.user_ns)
    shell.run_line_magic("xmode", "Verbose")
    shell.run_cell(CELL)
    assert "deeper" in capsys.readouterr().out


def test_an_interrupt_elsewhere_is_shown_as_ever(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("def mine():\n    raise KeyboardInterrupt\nmine()")
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert "----> 2     raise KeyboardInterrupt" in shown


def test_other_errors_are_left_alone(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("1 / 0")
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_a_message_of_several_lines_is_kept_whole() -> None:
    error = RayTaskError(
        "f", 'Traceback\n  File "a.py", line 1, in f\n    x\nValueError: one\ntwo', ValueError("one\ntwo")
    )
    assert tracebacks.render(error)[-1].endswith("one\ntwo")


@pytest.mark.parametrize("message", ["one\n  two\nthree", "one\n  two", "one\n\n  two"])
def test_indented_lines_of_a_message_are_no_frames(message: str) -> None:
    text = f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x\nValueError: {message}'
    lines = tracebacks.render(RayTaskError("f", text, ValueError(message)))
    assert re.sub(r"\x1b\[\d+m", "", lines[-1]) == f"ValueError: {message}"
    assert lines[:3] == text.splitlines()[:3]


def test_a_group_shows_cells_and_their_lines_and_ends_with_its_message(shell: InteractiveShell) -> None:
    text = (
        "  + Exception Group Traceback (most recent call last):\n"
        f'  |   File "{_cell_file(shell)}", line 2, in train\n'
        "  | ExceptionGroup: all (1 sub-exception)"
    )
    lines = tracebacks.render(RayTaskError("train", text, ExceptionGroup("all", [ValueError("no")])), shell)
    assert lines[1:3] == ["  |   Cell In[1], line 2, in train", "  |     raise ValueError('bad batch')"]
    assert re.sub(r"\x1b\[\d+m", "", lines[-1]) == "ExceptionGroup: all (1 sub-exception)"


def test_minimal_mode_shows_what_was_raised_only(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["error"] = _error("train.py")
    shell.run_line_magic("xmode", "Minimal")
    capsys.readouterr()
    shell.run_cell("raise error")
    assert re.sub(r"\x1b\[\d+m", "", capsys.readouterr().out).strip() == "ValueError: bad batch"


def test_tb_shows_the_tasks_error_again_and_not_an_earlier_one(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["error"] = _error(_cell_file(shell)).as_instanceof_cause()
    shell.run_cell("1 / 0")
    shell.run_cell("raise error")
    first = capsys.readouterr().out
    shell.run_line_magic("tb", "")
    again = capsys.readouterr().out
    assert "in train, on GPU 1" in again and again in first


def test_debug_stands_in_the_cell_and_keeps_nothing_else_alive(shell: InteractiveShell) -> None:
    shell.user_ns["error"] = _error("train.py")
    shell.run_cell("def deeper():\n    large = object()\n    raise error\ndeeper()")
    last = sys.last_traceback
    assert shell.InteractiveTB.tb is last and last is not None and last.tb_next is not None
    assert last.tb_next.tb_frame.f_globals is shell.user_ns and last.tb_next.tb_lineno == 4
    assert last.tb_next.tb_next is None


def test_an_error_that_was_shown_can_be_pickled(shell: InteractiveShell) -> None:
    shell.user_ns["error"] = error = _error("train.py").as_instanceof_cause()
    shell.run_cell("raise error")
    assert isinstance(pickle.loads(pickle.dumps(error)), ValueError)


def test_an_error_of_the_engines_shows_the_users_frames_and_the_words(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    def wait() -> None:
        raise WorkerCrashedError("train ended because its worker process (pid 7) was killed by SIGKILL.")

    wait.__code__ = wait.__code__.replace(co_filename=tracebacks.__file__)
    shell.user_ns["wait"] = wait
    shell.run_cell("def outer():\n    wait()\nouter()", store_history=True)
    shown = re.sub(r"\x1b\[\d+m", "", capsys.readouterr().out)
    assert "Cell In[1], line 3\n    outer()" in shown
    assert "Cell In[1], line 2, in outer\n    wait()" in shown
    assert "WorkerCrashedError: train ended because" in shown
    assert "tracebacks.py" not in shown

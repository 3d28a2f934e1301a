"""Where the code of another process stands: also in C, and in other threads and coroutines."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from nbaccel import stacks
from nbaccel.views import stack_text
from tests.rig import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has memfds and signals to single threads")

BEGIN = """
import asyncio, ctypes, signal, sys, threading, time
from nbaccel import stacks

stacks.install()

def other():
    threading.Event().wait()

threading.Thread(target=other, daemon=True).start()
"""
BLOCKED = """
signal.pthread_sigmask(signal.SIG_BLOCK, [stacks.WHERE])

def of_the_main_thread():
    print("ready", flush=True)
    sys.stdin.readline()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [stacks.WHERE])
    time.sleep(60)

of_the_main_thread()
"""
IN_C = """
def keeps_the_lock():
    print("ready", flush=True)
    ctypes.PyDLL(None).pause()
    while True:
        ctypes.PyDLL(None).pause()

keeps_the_lock()
"""
IN_A_LOOP = """
stacks.answer_for_threads()

async def items():
    print("ready", flush=True)
    await asyncio.sleep(60)
    yield 1

async def waits():
    async for _ in items():
        pass

asyncio.run(waits())
"""
Begin = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Start a program, and wait until it says that it is ready."""
    begun: list[subprocess.Popen[str]] = []

    def start(program: str) -> subprocess.Popen[str]:
        begun.append(
            subprocess.Popen(
                [sys.executable, "-c", BEGIN + program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        assert begun[-1].stdout is not None and begun[-1].stdout.readline() == "ready\n"
        return begun[-1]

    yield start
    for each in begun:
        each.kill()
        each.communicate()


def test_the_main_thread_is_asked_also_if_another_one_could_take_the_signal_first(begin: Begin) -> None:
    asked = begin(BLOCKED)
    since = stacks.ask(asked.pid)
    assert since is not None and stacks.answer(asked.pid, since) == ""
    assert asked.stdin is not None
    asked.stdin.write("\n")
    asked.stdin.flush()
    stack = stacks.of(asked.pid)
    assert "in of_the_main_thread" in stack and "in other" not in stack


def test_a_process_answers_while_c_code_keeps_pythons_lock(begin: Begin) -> None:
    asked = begin(IN_C)
    assert "in keeps_the_lock" in stacks.of(asked.pid)
    assert "in keeps_the_lock" in stacks.of(asked.pid)  # once more: the answers are not mixed
    assert stacks.of(asked.pid).count("in keeps_the_lock") == 1


def test_coroutines_that_wait_have_a_stack_and_so_have_other_threads(begin: Begin) -> None:
    pid = begin(IN_A_LOOP).pid
    wait_until(lambda: "in sleep" in stacks.of(pid), "the sleep")
    written = stacks.of(pid)
    assert written.index("in sleep") < written.index("in items") < written.index("in waits")
    assert "in other" in written


def test_a_process_that_does_not_handle_the_signal_is_not_asked(begin: Begin) -> None:
    default = "signal.signal(stacks.WHERE, signal.SIG_DFL); print('ready', flush=True); sys.stdin.readline()"
    asked = begin(f"import faulthandler; faulthandler.unregister(stacks.WHERE); {default}")
    assert stacks.of(asked.pid) == "" and asked.poll() is None
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    assert stacks.ask(ended.pid) is None and not stacks.send_signal(ended.pid, stacks.WHERE)


def test_the_frames_of_users_come_in_the_order_of_a_traceback_and_ours_are_left_out() -> None:
    written = (
        "Stack (most recent call first):\n"
        '  File "/usr/lib/python3.11/threading.py", line 5 in wait\n'
        '  File "/venv/lib/python3.11/site-packages/nbaccel/api.py", line 9 in get\n'
        '  File "/home/me/train.py", line 31 in train\n'
        '  File "/venv/lib/python3.11/site-packages/nbaccel/worker.py", line 7 in main\n'
        '  File "/usr/lib/python3.11/threading.py", line 2 in run\n'
        "Stack (most recent call first):\n"
        '  File "/usr/lib/python3.11/threading.py", line 5 in wait\n'
    )
    assert stack_text.of_users(written) == (
        '  File "/home/me/train.py", line 31, in train\n  File "/usr/lib/python3.11/threading.py", line 5, in wait'
    )


def test_a_folder_of_the_name_nbaccel_is_not_the_package() -> None:
    """As a clone is, with a user's notebooks in it."""
    own = '  File "/home/me/nbaccel/train.py", line 31 in train\n'
    package = f'  File "{stack_text.__file__}", line 9 in of_users\n'
    shown = stack_text.of_users(f"Stack (most recent call first):\n{package}{own}")
    assert shown == '  File "/home/me/nbaccel/train.py", line 31, in train'


def test_a_stack_has_the_lines_of_cells_and_files(monkeypatch: pytest.MonkeyPatch) -> None:
    names = SimpleNamespace(place=lambda file, line: f"cell [7] line {line}" if file.startswith("<") else file)
    monkeypatch.setattr(stack_text.sinks, "installed", names)
    text = f'  File "<cell>", line 3, in train\n  File "{__file__}", line 1, in f\n  File "/gone.py", line ???, in g'
    assert stack_text.with_sources(text).splitlines() == [
        "  cell [7] line 3, in train",
        f'  File "{__file__}", line 1, in f',
        '    """Where the code of another process stands: also in C, and in other threads and coroutines."""',
        '  File "/gone.py", line ???, in g',
    ]

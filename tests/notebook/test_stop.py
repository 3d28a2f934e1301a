"""The Stop button in real kernels: once, twice, while a task sleeps, computes, or blocks in C."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.notebook.kernels import HURRY_AGAIN, NO_HURRY, Kernel
from tests.rig import is_alive

SETUP = """
import asyncio, time, os
import nbaccel
nbaccel.init(num_cpus=2, num_gpus=1)

@nbaccel.remote
def sleeps():
    print("begun", flush=True)
    time.sleep(600)

@nbaccel.remote
def computes():
    print("begun", flush=True)
    while True:
        sum(range(1000))

@nbaccel.remote
def blocks_in_c():
    print("begun", flush=True)
    import threading
    threading.Lock().acquire() or None
    lock = threading.Lock(); lock.acquire(); lock.acquire()

@nbaccel.remote(num_gpus=1)
def stubborn():
    print("begun", flush=True)
    while True:
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            print("ignored", flush=True)

@nbaccel.remote
def pid():
    return os.getpid()

@nbaccel.remote
def yields():
    print("begun", flush=True)
    time.sleep(600)
    yield 1

def outcome(ref):
    try:
        return nbaccel.get(ref, timeout=60)
    except Exception as error:
        return type(error).__name__
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    kernel = Kernel()
    kernel.run(SETUP)
    yield kernel
    kernel.close()


@pytest.mark.parametrize("task", ["sleeps", "computes", "blocks_in_c"])
def test_stop_ends_the_cell_and_cancels_what_it_waits_for(kernel: Kernel, task: str) -> None:
    cell = kernel.submit(f"ref = {task}.remote()\nnbaccel.get(ref)")
    kernel.until(lambda: "begun" in cell.text)

    kernel.interrupt()
    kernel.finish(cell)

    assert cell.error is not None and cell.error["ename"] == "KeyboardInterrupt"
    assert "Stopped: 1 task cancelled." in cell.text
    assert "TaskCancelledError" in kernel.run("print(outcome(ref))").text


def test_the_stopped_tasks_worker_stays_warm(kernel: Kernel) -> None:
    # A worker that has loaded nothing ends when it has been idle for five seconds, which we may need to look.
    kernel.run(
        "@nbaccel.remote\ndef loads():\n    import sys\n    sys.modules['a_module_of_the_user'] = sys\n"
        "    print('begun', flush=True)\n    time.sleep(600)"
    )
    cell = kernel.submit("ref = loads.remote()\nnbaccel.get(ref)")
    kernel.until(lambda: "begun" in cell.text)
    kernel.interrupt()
    kernel.finish(cell)

    worker = re.search(r"pid=(\d+)", cell.text)
    assert worker is not None
    looked = f"seen, tries = set(), 0\nwhile {worker[1]} not in seen and (tries := tries + 1) < 1000:"
    after = kernel.run(
        f"outcome(ref)\n{looked}\n    seen |= set(nbaccel.get([pid.remote() for _ in range(4)]))\nprint(seen)"
    )

    assert worker[1] in after.stdout


def test_another_cells_task_goes_on(kernel: Kernel) -> None:
    kernel.run("other = sleeps.remote()")
    cell = kernel.submit("print('waiting', flush=True)\nnbaccel.get(other)")
    kernel.until(lambda: "waiting" in cell.text)
    kernel.interrupt()
    kernel.finish(cell)

    still = kernel.run(
        "print(nbaccel.wait([other], timeout=0)[1] == [other])\nnbaccel.cancel(other)\nprint(outcome(other))"
    )

    assert "True" in still.text and "TaskCancelledError" in still.text


def test_stopped_twice_a_task_that_ignores_it_is_killed_and_its_device_is_free(kernel: Kernel) -> None:
    kernel.run(NO_HURRY)
    cell = kernel.submit("stuck = stubborn.remote()\nnbaccel.get(stuck)")
    kernel.until(lambda: "begun" in cell.text)
    kernel.interrupt()
    kernel.finish(cell)
    worker = int(re.findall(r"pid=(\d+)", cell.text)[0])
    # A press that comes before the idle kernel listens does nothing, as does one more after the second.
    kernel.until(lambda: not is_alive(worker) or bool(kernel.interrupt()))  # type: ignore[func-returns-value]

    freed = kernel.run(
        f"{HURRY_AGAIN}\nprint(outcome(stuck))\n"
        "@nbaccel.remote(num_gpus=1)\ndef g(): return 'free'\nprint(outcome(g.remote()))"
    )

    assert "TaskCancelledError" in freed.text and "free" in freed.text


@pytest.mark.parametrize(
    "waits", ["await ref", "async for each in nbaccel.as_completed([ref, sleeps.remote()]): print(await each)"]
)
def test_stop_during_an_await_cancels_the_awaited_tasks(kernel: Kernel, waits: str) -> None:
    cell = kernel.submit(f"ref = sleeps.remote()\n{waits}")
    kernel.until(lambda: cell.text.count("begun") == 1 + waits.count("sleeps"))
    kernel.interrupt()
    kernel.finish(cell)

    assert "TaskCancelledError" in kernel.run("print(outcome(ref))").text


def test_stop_during_an_async_loop_over_a_stream_cancels_its_task(kernel: Kernel) -> None:
    cell = kernel.submit("stream = yields.remote()\nasync for each in stream:\n    print(await each)")
    kernel.until(lambda: "begun" in cell.text)
    kernel.interrupt()
    kernel.finish(cell)

    assert "TaskCancelledError" in kernel.run("print(outcome(next(stream)))").text


@pytest.mark.parametrize(
    "waits",
    ["future.result()", "future.exception()", "pass", "next(futures.as_completed([future]))", "futures.wait([future])"],
)
def test_stop_ends_a_block_with_an_executor_and_cancels_its_tasks(kernel: Kernel, waits: str) -> None:
    cell = kernel.submit(
        "from concurrent import futures\ndef long():\n    print('begun', flush=True)\n    time.sleep(600)\n"
        f"with nbaccel.Executor() as pool:\n    future = pool.submit(long)\n    {waits}"
    )
    kernel.until(lambda: "begun" in cell.text)
    kernel.interrupt()
    kernel.finish(cell)

    assert cell.error is not None and cell.error["ename"] == "KeyboardInterrupt"
    said = kernel.run(
        "try:\n    future.result(timeout=60)\nexcept BaseException as error:\n    print(type(error).__name__)"
    )
    assert "TaskCancelledError" in said.text


@pytest.mark.parametrize(
    ("made", "waits"),
    [
        ("sleeps.remote().future()", "futures.wait([future])"),
        ("sleeps.remote().future()", "future.result()"),
        ("pool.submit(sleeps._function)", "next(futures.as_completed([future]))"),
        ("pool.submit(sleeps._function)", "pool.shutdown()"),
    ],
)
def test_stop_cancels_the_tasks_of_the_futures_that_a_cell_waits_for(kernel: Kernel, made: str, waits: str) -> None:
    cell = kernel.submit(f"from concurrent import futures\npool = nbaccel.Executor()\nfuture = {made}\n{waits}")
    kernel.until(lambda: "begun" in cell.text)
    kernel.interrupt()
    kernel.finish(cell)

    assert cell.error is not None and cell.error["ename"] == "KeyboardInterrupt"
    assert cell.text.count("Stopped: 1 task cancelled.") == 1
    assert "TaskCancelledError" in kernel.run("print(type(future.exception(60)).__name__)").text


def test_wait_for_and_gather_never_cancel(kernel: Kernel) -> None:
    code = """
ref = sleeps.remote()
try:
    await asyncio.wait_for(ref, 0.2)
except asyncio.TimeoutError:
    print("timed out:", nbaccel.wait([ref], timeout=0)[1] == [ref])  # what the task prints comes at any time
"""
    assert "timed out: True" in kernel.run(code).text
    assert "True" in kernel.run("print(nbaccel.wait([ref], timeout=0)[1] == [ref]); nbaccel.cancel(ref)").text


def test_detached_tasks_go_on(kernel: Kernel) -> None:
    kernel.run("from nbaccel.waits import stopping; stopping.set_policy('detach')")
    cell = kernel.submit("ref = sleeps.remote()\nnbaccel.get(ref)")
    kernel.until(lambda: "begun" in cell.text)
    kernel.interrupt()
    kernel.finish(cell)

    assert "True" in kernel.run("print(nbaccel.wait([ref], timeout=0)[1] == [ref]); nbaccel.cancel(ref)").text
    kernel.run("stopping.set_policy(None)")


@pytest.mark.parametrize("waits", ["lock.acquire()", "threading.Event().wait()", "future.result()"])
def test_stop_is_heard_by_a_kernel_that_has_noted_the_signal_and_sleeps_on(kernel: Kernel, waits: str) -> None:
    # A signal that another thread takes never cuts the main thread's wait short, as one that comes just before it.
    cell = kernel.submit(
        "import signal, threading\nfrom concurrent import futures\n"
        "lock, future = threading.Lock(), futures.Future()\nlock.acquire()\n"
        "def presses(): signal.pthread_kill(threading.get_ident(), signal.SIGINT)\n"
        f"threading.Timer(0.2, presses).start()\n{waits}"
    )
    kernel.finish(cell)

    assert cell.error is not None and cell.error["ename"] == "KeyboardInterrupt"


def test_stop_is_heard_after_a_cell_had_a_handler_for_another_signal(kernel: Kernel) -> None:
    kernel.run(
        "import signal\nloop = asyncio.get_running_loop()\n"
        "loop.add_signal_handler(signal.SIGUSR1, print)\nloop.remove_signal_handler(signal.SIGUSR1)"
    )
    cell = kernel.submit("import threading\nthreading.Timer(1, print, ['asleep']).start()\nawait asyncio.sleep(600)")
    kernel.until(lambda: "asleep" in cell.text)
    kernel.interrupt()
    kernel.finish(cell)

    assert cell.error is not None


def test_stop_wakes_a_kernel_that_awaits_and_in_which_nothing_else_happens() -> None:
    quiet = Kernel()
    try:
        quiet.run("%load_ext nbaccel\nimport asyncio, threading")
        # A thread says so, once the kernel's loop is asleep: printing from the cell itself would keep it awake.
        cell = quiet.submit("threading.Timer(1, print, ['asleep']).start()\nawait asyncio.sleep(600)")
        quiet.until(lambda: "asleep" in cell.text)
        quiet.interrupt()
        quiet.finish(cell)
        assert cell.error is not None
    finally:
        quiet.close()

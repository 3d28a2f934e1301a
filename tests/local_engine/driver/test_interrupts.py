"""Ctrl-C at any moment: it never tears a frame, loses an answer or leaves something behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import nbaccel
from nbaccel.util.multiprocessing import Pool
from tests.census import Place
from tests.local_engine import misbehaving, programs
from tests.rig import wait_until


@pytest.mark.slow
def test_ten_thousand_interrupts_at_random_moments_break_nothing(place: Place) -> None:
    done = place.run("from tests.local_engine import interrupted\ninterrupted.main(10_000)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("all well "), done.stdout


def test_interrupts_break_nothing_where_every_call_goes_through_the_head(place: Place) -> None:
    program = "from tests.local_engine import interrupted\ninterrupted.main(3_000)"
    done = place.run(program, NBACCEL_DIRECT_CALLS="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("all well "), done.stdout


def test_an_interrupted_get_can_be_repeated(place: Place) -> None:
    done = place.run(programs.INTERRUPTED_GET)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["interrupted", "finished 1", "array 5"]


WAITS = {
    "get": lambda ref, stream, future: nbaccel.get(ref),
    "wait": lambda ref, stream, future: nbaccel.wait([ref]),
    "wait for a stream": lambda ref, stream, future: nbaccel.wait([stream, ref]),
    "next": lambda ref, stream, future: next(stream),
    "result": lambda ref, stream, future: future.result(),
    "exception": lambda ref, stream, future: future.exception(timeout=600),
    "map": lambda ref, stream, future: Pool(1).map(misbehaving.sleep_forever, [1]),
}


@pytest.mark.parametrize("waits", WAITS.values(), ids=WAITS)
def test_a_wait_hears_of_an_interrupt_that_did_not_cut_it_short(own_head: Place, waits: Callable[..., object]) -> None:
    nbaccel.init(num_cpus=4)
    ref = nbaccel.remote(misbehaving.sleep_forever).remote()
    stream = nbaccel.remote(misbehaving.yield_after_ever).remote()
    future = nbaccel.Executor().submit(misbehaving.sleep_forever)
    with pytest.raises(KeyboardInterrupt):
        # Another thread takes the signal: Python notes it, and the main thread's system call goes on.
        threading.Timer(0.3, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT)).start()
        waits(ref, stream, future)
    nbaccel.shutdown()


def test_a_cancelled_task_that_was_submitting_leaves_its_worker_usable(cluster: Place) -> None:
    for _ in range(20):
        ref = misbehaving.submit_forever.remote()
        nbaccel.get(misbehaving.echo.options(num_cpus=0).remote(1))
        nbaccel.cancel(ref)
        try:
            nbaccel.get(ref)
        except nbaccel.exceptions.TaskCancelledError:
            pass
    assert nbaccel.get([misbehaving.echo.remote(i) for i in range(50)]) == list(range(50))


def test_an_import_is_never_cut_in_two_by_a_cancel(cluster: Place, tmp_path: Path) -> None:
    (tmp_path / "slow_to_import.py").write_text(
        "import pathlib, signal, time\n"
        "here, came = pathlib.Path(__file__).parent, []\n"
        "handler = signal.getsignal(signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, lambda *of: (came.append(1), handler(*of)))\n"
        "(here / 'begun').touch()\n"
        "while not came: time.sleep(0.01)\n"
        "signal.signal(signal.SIGINT, handler)\n"
        "(here / 'ended').touch()\n"
    )
    ref = misbehaving.import_and_hang.remote(str(tmp_path))
    wait_until(lambda: (tmp_path / "begun").exists(), "the import")
    nbaccel.cancel(ref)
    with pytest.raises(nbaccel.exceptions.TaskCancelledError):
        nbaccel.get(ref)
    assert (tmp_path / "ended").exists()


def test_a_cancel_that_comes_too_late_hits_nobody_else(cluster: Place) -> None:
    for _ in range(30):
        refs = [misbehaving.echo.remote(i) for i in range(4)]
        for ref in refs[:2]:
            nbaccel.cancel(ref)
        assert nbaccel.get(refs[2:]) == [2, 3]


@pytest.mark.parametrize("moment", ["configuration", "namespace", "runtime_env", "log_to_driver"])
def test_a_head_whose_start_is_interrupted_ends_at_once(place: Place, moment: str) -> None:
    done = place.run(programs.INTERRUPTED_START, INTERRUPTED_AT=moment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "-9 False\n", "")

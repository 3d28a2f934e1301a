"""A signal that is noted without cutting a wait short ends the wait all the same."""

from __future__ import annotations

import signal
import threading
from concurrent import futures

import pytest

from nbaccel.waits import interruptible


def assert_interrupted(wait, *args):
    """Has another thread take SIGINT meanwhile: the main thread's own wait goes on in its system call.

    The signal may come as soon as the timer runs, so only the block that expects it may start the timer.
    """
    timer = threading.Timer(0.1, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        wait(*args)
    timer.join()


@pytest.mark.parametrize("timeout_s", [None, 600.0])
def test_a_lock(timeout_s):
    lock = threading.Lock()
    lock.acquire()
    assert_interrupted(interruptible.acquire, lock, timeout_s)


@pytest.mark.parametrize("timeout_s", [None, 600.0])
def test_an_event(timeout_s):
    assert_interrupted(interruptible.until, threading.Event().wait, timeout_s)


def test_the_time_is_kept_to_in_every_thread():
    def waits():
        return interruptible.until(threading.Event().wait, 0.12), interruptible.acquire(threading.Lock(), 0)

    assert waits() == (False, True)
    with futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(waits).result() == (False, True)

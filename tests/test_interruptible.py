"""A signal that is noted without cutting a wait short ends the wait all the same."""

from __future__ import annotations

import signal
import threading
from concurrent import futures
from contextlib import suppress

import pytest

from nbaccel.waits import interruptible


@pytest.fixture
def pressed():
    """Has another thread take SIGINT: the main thread's own wait goes on in its system call."""
    timer = threading.Timer(0.1, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT))
    timer.start()
    yield
    with suppress(KeyboardInterrupt):
        timer.join()


@pytest.mark.usefixtures("pressed")
@pytest.mark.parametrize("timeout_s", [None, 600.0])
def test_a_lock(timeout_s):
    lock = threading.Lock()
    lock.acquire()
    with pytest.raises(KeyboardInterrupt):
        interruptible.acquire(lock, timeout_s)


@pytest.mark.usefixtures("pressed")
@pytest.mark.parametrize("timeout_s", [None, 600.0])
def test_an_event(timeout_s):
    with pytest.raises(KeyboardInterrupt):
        interruptible.until(threading.Event().wait, timeout_s)


def test_the_time_is_kept_to_in_every_thread():
    def waits():
        return interruptible.until(threading.Event().wait, 0.12), interruptible.acquire(threading.Lock(), 0)

    assert waits() == (False, True)
    with futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(waits).result() == (False, True)

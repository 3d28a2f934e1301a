"""The end of a head, while its driver finds out how it came: whoever asks meanwhile hears the whole of it."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.local_engine.driver import engine as driver
from tests.census import Place
from tests.local_engine import misbehaving
from tests.rig import DEADLINE_S

TOO_SOON_S = 0.3  # who does not wait has answered by then


class Asking(threading.Thread):
    """A thread that gets the ref, and what it was told."""

    def __init__(self, ref: Any) -> None:
        super().__init__(daemon=True)
        self._ref = ref
        self.notified = ""

    def run(self) -> None:
        try:
            nbaccel.get(self._ref)
        except exceptions.RayError as error:
            self.notified = str(error)

    def words(self) -> str:
        self.join(DEADLINE_S)
        return self.notified


def test_who_asks_while_a_killed_head_is_looked_at_hears_how_it_ended(
    own_head: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, go = threading.Event(), threading.Event()

    def look(process: Any, timeout_s: float) -> int | None:
        looking.set()
        go.wait(DEADLINE_S)
        return wait(process, timeout_s)

    wait = driver.wait_for_end
    nbaccel.init(num_cpus=1)
    ref = nbaccel.remote(misbehaving.sleep_forever).remote()
    pid = nbaccel.snapshot().runtime.pid
    assert pid is not None
    monkeypatch.setattr(driver, "wait_for_end", look)
    os.kill(pid, signal.SIGKILL)
    assert looking.wait(DEADLINE_S)
    asking = Asking(ref)
    asking.start()
    asking.join(TOO_SOON_S)
    go.set()
    assert "was killed by SIGKILL" in asking.words()


def test_after_its_head_was_killed_a_process_may_init_again_as_it_is_told(own_head: Place) -> None:
    nbaccel.init(num_cpus=1)
    ref = nbaccel.remote(misbehaving.sleep_forever).remote()
    pid = nbaccel.snapshot().runtime.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(exceptions.HeadDiedError, match=r"call nbaccel\.init\(\) again"):
        nbaccel.get(ref)
    nbaccel.init(num_cpus=1)
    assert nbaccel.get(nbaccel.remote(lambda: 1).remote()) == 1
    with pytest.raises(RuntimeError, match="called twice"):
        nbaccel.init(num_cpus=1)

"""`nbaccel top` in a real terminal: choose a task, end it after a question, leave."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest

import nbaccel
from nbaccel import exceptions
from tests.census import Place
from tests.rig import DEADLINE_S


@nbaccel.remote
def forever() -> None:
    signal.pause()


@nbaccel.remote(num_gpus=1)
class Holder:
    def ready(self) -> None:
        """It has come up."""


class Terminal:
    """A program in a terminal of 120 columns and 30 lines."""

    def __init__(self, *command: str) -> None:
        self._ours, theirs = pty.openpty()
        environ = {**os.environ, "COLUMNS": "120", "LINES": "30", "TERM": "xterm"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nbaccel", *command], stdin=theirs, stdout=theirs, stderr=theirs, env=environ
        )
        os.close(theirs)
        self._text = ""

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def shows(self, words: str) -> bool:
        """Wait until the screen says so, after what was read before."""
        end = time.monotonic() + DEADLINE_S
        while words not in self._text and time.monotonic() < end:
            if select.select([self._ours], [], [], 1.0)[0]:
                self._text += re.sub(
                    r"\x1b\[[0-9;?]*[a-zA-Z]", "", os.read(self._ours, 1 << 16).decode(errors="replace")
                )
        found = words in self._text
        self._text = self._text.partition(words)[2]
        return found

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *unused: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def end(self) -> int:
        """The exit status. What is still printed is read, so that the program does not wait for us."""
        while True:
            try:
                if not os.read(self._ours, 1 << 16):
                    break
            except OSError:  # the other end is closed
                break
        return self.process.wait(DEADLINE_S)


def test_a_task_is_chosen_and_cancelled_after_a_question(cluster: Place) -> None:
    ref = forever.remote()
    with Terminal("top", "--interval", "0.2") as terminal:
        assert terminal.shows("forever")
        assert terminal.shows("q quit  ? help")
        terminal.press(b"\x1b[B")
        terminal.press(b"k")
        assert terminal.shows("Cancel forever")
        assert terminal.shows("? y: yes, any other key: no")
        terminal.press(b"y")
        assert terminal.shows("Cancelled forever")
        with pytest.raises(exceptions.TaskCancelledError):
            nbaccel.get(ref, timeout=DEADLINE_S)
        terminal.press(b"q")
        assert terminal.end() == 0


def test_an_actor_is_ended(cluster: Place) -> None:
    actor = Holder.remote()
    nbaccel.get(actor.ready.remote())
    with Terminal("top", "--interval", "0.2") as terminal:
        assert terminal.shows("Holder")  # the first page may come before the first snapshot
        assert terminal.shows("q quit  ? help")
        terminal.press(b"/Holder\r")
        assert terminal.shows("/ filter: Holder")
        terminal.press(b"\x1b[B" * 9 + b"k")
        assert terminal.shows("End actor Holder")
        terminal.press(b"y")
        assert terminal.shows("Ended actor Holder")
        with pytest.raises(exceptions.ActorDiedError):
            nbaccel.get(actor.ready.remote(), timeout=DEADLINE_S)
        terminal.press(b"q")
        assert terminal.end() == 0


def test_a_filter_is_asked_of_the_head_and_help_is_shown(cluster: Place) -> None:
    refs = [forever.options(name=name, num_cpus=0.001).remote() for name in ("needle", "straw")]
    with Terminal("top", "--interval", "0.2") as terminal:
        assert terminal.shows("q quit")
        terminal.press(b"/needle\r")
        assert terminal.shows("/ filter: needle")
        terminal.press(b"?")
        assert terminal.shows("cancel the chosen task")
        terminal.press(b"xq")
        assert terminal.end() == 0
    for ref in refs:
        nbaccel.cancel(ref)

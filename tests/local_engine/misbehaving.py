"""Tasks and objects that go wrong, and how. Workers import this module: it needs no test library."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import nbaccel


class Broken(ValueError):
    """What the faults raise."""


def go_wrong(how: str) -> Any:
    """Fail in this way."""
    if how == "raise":
        raise Broken("it broke")
    if how == "exit":
        sys.exit(3)
    if how == "hard exit":
        os._exit(4)
    ctypes.string_at(0)


class WhenPickled:
    """Goes wrong while it is pickled."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __reduce__(self) -> Any:
        return go_wrong(self.how)


class WhenUnpickled(WhenPickled):
    """Goes wrong while it is unpickled."""

    def __reduce__(self) -> Any:
        return go_wrong, (self.how,)


@nbaccel.remote(max_retries=0)
def take(value: Any) -> None: ...


@nbaccel.remote(max_retries=0)
def run(how: str) -> None:
    go_wrong(how)


@nbaccel.remote(max_retries=0)
def give(when: str, how: str) -> Any:
    return WhenPickled(how) if when == "pickled" else WhenUnpickled(how)


def submit(where: str, how: str) -> Any:
    """Submit the task that goes wrong there, in this way."""
    if where == "pickling the task":
        return take.remote(WhenPickled(how))
    if where == "unpickling the task":
        return take.remote(WhenUnpickled(how))
    if where == "running":
        return run.remote(how)
    return give.remote("pickled" if where == "pickling the result" else "unpickled", how)

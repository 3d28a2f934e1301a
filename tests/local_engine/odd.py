"""Tasks that do what one should not. Workers import this module: it needs no test library."""

from __future__ import annotations

import gc
import os
import sys
import threading
from typing import Any

import nbaccel


class BadStr(Exception):
    def __str__(self) -> str:
        raise ValueError("its words broke")

    __repr__ = __str__


class OwnBase(BaseException):
    pass


class Locked(Exception):
    def __init__(self) -> None:
        super().__init__("the words")
        self.lock = threading.Lock()


class TwoArguments(Exception):
    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def _cycle() -> Exception:
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def _holding() -> Exception:
    error: Any = ValueError("with a ref")
    error.ref = nbaccel.put("held")
    return error


def _deep(level: int = 0) -> int:
    return _deep(level + 1)


THROWN = {
    "BadStr": BadStr,
    "ExceptionGroup": lambda: ExceptionGroup("several", [ValueError(1), KeyError(2)]),
    "StopIteration": StopIteration,
    "Cycle": _cycle,
    "RecursionError": _deep,
    "Huge": lambda: ValueError("x" * 3_000_000),
    "Surrogate": lambda: ValueError("a\udc80"),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "OwnBase": OwnBase,
    "Locked": Locked,
    "TwoArguments": lambda: TwoArguments(1, 2),
    "HoldsRef": _holding,
}


@nbaccel.remote
def throw(name: str) -> None:
    raise THROWN[name]()  # type: ignore[misc]


@nbaccel.remote
def close_everything() -> None:
    os.closerange(3, 1000)


@nbaccel.remote
def do(deed: str) -> None:
    exec(deed, {"nbaccel": nbaccel, "os": os, "sys": sys})


@nbaccel.remote
def surroundings() -> tuple[bool, bool]:
    """Whether print and the cluster work."""
    print("still printing")
    return sys.stdout is not None and not sys.stdout.closed, nbaccel.get(nbaccel.put(1)) == 1


class Large:
    """Stands for an array on a device."""

    alive = 0

    def __init__(self) -> None:
        Large.alive += 1

    def __del__(self) -> None:
        Large.alive -= 1


@nbaccel.remote
def fail_with_an_array() -> None:
    array = Large()
    raise ValueError("after the array" if array else "")


@nbaccel.remote
def arrays_alive() -> int:
    gc.collect()
    return Large.alive


@nbaccel.remote
def leave_a_thread() -> str:
    threading.Thread(target=threading.Event().wait, args=(60,), daemon=True).start()
    return "left"

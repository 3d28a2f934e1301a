"""Tasks and objects that go wrong, and how. Workers import this module: it needs no test library."""

from __future__ import annotations

import ctypes
import importlib
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import nbaccel
from nbaccel import engine as engines


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


@nbaccel.remote
def echo(value: Any) -> Any:
    return value


@nbaccel.remote
def kill_oneself(number: int) -> None:
    os.kill(os.getpid(), number)


@nbaccel.remote
def complain(words: str) -> int:
    print(words, file=sys.stderr)
    return os.getpid()


@nbaccel.remote
def complain_and_end(lines: list[str]) -> None:
    """Native code that gives up: the last line is not whole."""
    os.write(2, "\n".join(lines).encode())
    os._exit(7)


def _note(path: str) -> int:
    """Count the runs of a task in a file; how many there have been."""
    with open(path, "a") as file:
        file.write("x")
        return file.tell()


@nbaccel.remote
def die_noted(path: str, times: int) -> str:
    """Die so many times, then live."""
    if _note(path) <= times:
        os._exit(1)
    return "alive"


@nbaccel.remote
def raise_noted(path: str) -> None:
    _note(path)
    raise Broken("it broke")


@nbaccel.remote
class Fragile:
    """An actor that dies when told to."""

    def pid(self) -> int:
        return os.getpid()

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def complain_and_end(self) -> None:
        os.write(2, b"terminate called\n")
        os.abort()

    def echo(self, value: Any) -> Any:
        return value

    def exit(self) -> None:
        sys.exit(3)


@nbaccel.remote
class AsyncFragile:
    async def exit(self) -> None:
        sys.exit(3)


@nbaccel.remote
def start_child() -> int:
    """A child in a process group of its own, that lives long."""
    return subprocess.Popen(["sleep", "1000"], process_group=0).pid


@nbaccel.remote
def start_child_apart() -> int:
    """A child in a session of its own, out of reach of whoever kills ours."""
    return subprocess.Popen(["sleep", "1000"], start_new_session=True).pid


@nbaccel.remote
def fork_and_die() -> None:
    """Die while a forked child, out of reach, holds a copy of everything."""
    if os.fork() == 0:
        os.setsid()
        time.sleep(20)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


@nbaccel.remote
def count_slowly(lines: int) -> None:
    """Print lines in pieces, so that a reader sees half ones."""
    for i in range(lines):
        sys.stdout.write("line ")
        sys.stdout.flush()
        print(i, flush=True)


def square(value: int) -> int:
    return value * value


@nbaccel.remote
def fork_a_pool() -> list[int]:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(square, range(4))


@nbaccel.remote
def submit_forever() -> None:
    """Submit, get and put until we are cancelled."""
    while True:
        nbaccel.get(echo.options(num_cpus=0).remote(nbaccel.get(nbaccel.put(1))))


@nbaccel.remote
def return_in_a_fork(how: str) -> int:
    """The exit code of a forked child that goes on as if it were the task."""
    child = os.fork()
    if child == 0 and how == "raise":
        raise ValueError("in the child")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if child else 0


@nbaccel.remote
def look_until_ready() -> int:
    """Hold all CPUs and look, without ever waiting, whether a task of ours is done."""
    ref = echo.remote(5)
    while not nbaccel.wait([ref], timeout=0)[0]:
        pass
    return nbaccel.get(ref)


@nbaccel.remote
class Forks:
    async def and_returns(self, how: str) -> int:
        return return_in_a_fork._function(how)  # type: ignore[no-any-return]


@nbaccel.remote
def get_in_a_fork(path: str) -> str:
    """What a forked child of a task hears when it asks for an object that comes once there is a file at `path`."""
    ref = nbaccel.put("ours")
    later = wait_for_file.options(num_cpus=0).remote(path)
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            os.write(write, repr(nbaccel.get(later)).encode())
        except Exception as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    open(path, "x").close()
    assert nbaccel.get([ref, later]) == ["ours", "gone"]
    return said


@nbaccel.remote
def wait_for_file(path: str) -> str:
    while not os.path.exists(path):
        time.sleep(0.01)
    return "gone"


@nbaccel.remote
def import_and_hang(directory: str) -> None:
    sys.path.insert(0, directory)
    importlib.import_module("slow_to_import")
    time.sleep(1000)


def sleep_forever(*ignored: object) -> None:
    time.sleep(1e6)


def yield_after_ever() -> Iterator[int]:
    time.sleep(1e6)
    yield 1


def yield_for_ever() -> Iterator[int]:
    yield from itertools.count()


@nbaccel.remote
def shorten_the_arena() -> None:
    """Cut off the store's memory: whoever has mapped it would die of SIGBUS."""
    (arena,) = (fd for fd in os.listdir("/proc/self/fd") if _names_the_arena(fd))
    os.ftruncate(int(arena), 0)


def _names_the_arena(fd: str) -> bool:
    try:
        return "nbaccel-arena" in os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return False  # it was the list's own


@nbaccel.remote(max_retries=0)
def speak_out_of_turn(what: str) -> None:
    """Say something of these, and wait for what comes of it."""
    from nbaccel import engine
    from nbaccel.local_engine import wire

    words = {
        "what only a driver says": wire.Bye(),
        "that it has room which it was not granted": wire.Put(b"o" * 28, wire.Value(wire.OK, None, 8192, 10)),
        "its name again": wire.WorkerHello(b"w" * 28, 1),
    }
    started: Any = engine.started()
    started.link.send(words[what])
    time.sleep(1000)


@nbaccel.remote
def fork_while_locked() -> str:
    """What a forked child's uses of the cluster raise, if threads held these locks when it was made."""
    client: Any = engines.started()
    uses = [lambda: nbaccel.put(1), nbaccel.cluster_resources, lambda: run.remote("raise")]
    reading, writing = os.pipe()
    with client.link._write_lock, client.link._question_lock, client.values._lock, client.references._lock:
        if not os.fork():
            try:
                os.write(writing, " ".join(map(_raised, uses)).encode())
            finally:
                os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def _raised(use: Callable[[], object]) -> str:
    try:
        use()
    except Exception as error:
        return type(error).__name__
    return "nothing"

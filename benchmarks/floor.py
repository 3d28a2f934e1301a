"""What nothing on this machine can be faster than: the system's own price of what a runtime is made of."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

SIZE_BYTES = 100_000_000


def typical_s(once: Callable[[], float], repeat: int) -> float:
    once()
    return median(once() for _ in range(repeat))


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def pipe_round_trip() -> float:
    """A byte to another process and back."""
    there_read, there_write = os.pipe()
    back_read, back_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(there_write)
        while byte := os.read(there_read, 1):
            os.write(back_write, byte)
        os._exit(0)

    def once() -> float:
        began = time.perf_counter()
        os.write(there_write, b"x")
        os.read(back_read, 1)
        return time.perf_counter() - began

    figure = typical_s(once, 2000)
    for fd in (there_write, there_read, back_read, back_write):
        os.close(fd)
    os.waitpid(child, 0)
    return figure


def two_hops() -> float:
    """A byte over unix sockets through a process in the middle, as from driver to head to worker, and back."""
    driver, head_left = socket.socketpair()
    head_right, worker = socket.socketpair()
    ends = (driver, head_left, head_right, worker)
    children = [_relay(ends, worker, worker, worker), _relay(ends, head_left, head_right, head_left)]
    for end in ends[1:]:
        end.close()

    def once() -> float:
        began = time.perf_counter()
        driver.send(b"x")
        driver.recv(1)
        return time.perf_counter() - began

    figure = typical_s(once, 2000)
    driver.close()
    for child in children:
        os.waitpid(child, 0)
    return figure


def _relay(ends: tuple[socket.socket, ...], come: socket.socket, go: socket.socket, back: socket.socket) -> int:
    """A child that passes each byte on, and its answer back; a worker's `go` is its `come`: it answers itself."""
    child = os.fork()
    if child:
        return child
    for end in ends:
        if end not in (come, go, back):
            end.close()
    while byte := come.recv(1):
        go.send(byte)
        if go is not come:
            back.send(go.recv(1))
    os._exit(0)


def fork() -> float:
    """A child that ends at once, until it is reaped."""

    def once() -> None:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    return typical_s(lambda: timed(once), 50)


def interpreter() -> float:
    """Python itself, without site packages."""
    return typical_s(lambda: timed(lambda: subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)), 10)


def interpreter_with_msgspec() -> float:
    """Python as its user has it, with the library of all messages: each driver and each head begins so."""
    return typical_s(lambda: timed(lambda: subprocess.run([sys.executable, "-c", "import msgspec"], check=True)), 10)


def memory_copy() -> float:
    """100 MB between buffers that were touched before."""
    source, target = bytearray(SIZE_BYTES), bytearray(SIZE_BYTES)
    view = memoryview(target)

    def copy() -> None:
        view[:] = source

    return typical_s(lambda: timed(copy), 7)


def shared_write(*, fresh: bool) -> float:
    """100 MB into shared memory whose pages are there, or have to come first."""
    source = bytearray(SIZE_BYTES)
    fd = os.memfd_create("floor")

    def write() -> float:
        if fresh:
            os.ftruncate(fd, 0)
        return timed(lambda: os.pwrite(fd, source, 0))

    figure = typical_s(write, 7)
    os.close(fd)
    return figure


FLOOR: list[tuple[str, Callable[[], float]]] = [
    ("pipe round trip between two processes", pipe_round_trip),
    ("round trip through a process in the middle", two_hops),
    ("fork, exit, reap", fork),
    ("start of a bare Python", interpreter),
    ("start of Python with msgspec", interpreter_with_msgspec),
    ("copy 100 MB", memory_copy),
    ("write 100 MB to recycled shared memory", lambda: shared_write(fresh=False)),
    ("write 100 MB to fresh shared memory", lambda: shared_write(fresh=True)),
]


def measure() -> dict[str, float]:
    return {title: work() for title, work in FLOOR}

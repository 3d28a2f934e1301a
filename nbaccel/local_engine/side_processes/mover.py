"""The mover: the process that moves objects between the arena and the disk; the head never waits for the disk.

It also has the system provide memory for the arena, and gives memory back.
"""

from __future__ import annotations

import mmap
import os
import socket

import msgspec

from nbaccel.local_engine import memory

_CHUNK_BYTES = 8 << 20


class Spill(msgspec.Struct, array_like=True, tag=True):
    """Write these bytes of the arena to a file."""

    object_id: bytes
    offset: int
    size: int
    path: str


class Restore(msgspec.Struct, array_like=True, tag=True):
    """Read a file into these bytes of the arena."""

    object_id: bytes
    offset: int
    size: int
    path: str


class Populate(msgspec.Struct, array_like=True, tag=True):
    """Have memory behind these bytes of the arena. What lies there stays: a value may be written meanwhile."""

    offset: int
    size: int


class GiveBack(msgspec.Struct, array_like=True, tag=True):
    """Give the memory of these bytes of the arena back to the system. What lies there is lost."""

    offset: int
    size: int


class Moved(msgspec.Struct, array_like=True, tag=True):
    """A move is done, or has failed for this reason."""

    object_id: bytes
    path: str
    restored: bool
    offset: int
    error: str = ""


class PagesDone(msgspec.Struct, array_like=True, tag=True):
    """A Populate or a GiveBack is done, or has failed for this reason."""

    offset: int
    size: int
    error: str = ""


decode_order = msgspec.msgpack.Decoder(Spill | Restore | Populate | GiveBack).decode
decode_report = msgspec.msgpack.Decoder(Moved | PagesDone).decode
encode = msgspec.msgpack.encode


def main(control: socket.socket, arena_fd: int, argument: str) -> None:
    """Run as the mover; `control` is a SOCK_SEQPACKET to the head."""
    while True:
        body = control.recv(65536)
        if not body:
            os._exit(0)
        order = decode_order(body)
        if isinstance(order, Populate | GiveBack):
            control.send(encode(_change_pages(arena_fd, order)))
        else:
            control.send(encode(_move(arena_fd, order)))


def _change_pages(arena_fd: int, order: Populate | GiveBack) -> PagesDone:
    try:
        if isinstance(order, GiveBack):
            memory.punch(arena_fd, order.offset, order.size)
        else:
            with mmap.mmap(arena_fd, order.size, flags=mmap.MAP_SHARED, offset=order.offset) as mapping:
                if not memory.populate(mapping, 0, order.size):
                    os.posix_fallocate(arena_fd, order.offset, order.size)
    except OSError as problem:
        return PagesDone(order.offset, order.size, problem.strerror or str(problem))
    return PagesDone(order.offset, order.size)


def _move(arena_fd: int, order: Spill | Restore) -> Moved:
    error = ""
    try:
        if isinstance(order, Spill):
            _spill(arena_fd, order)
        else:
            _restore(arena_fd, order)
    except OSError as problem:
        error = f"{problem.strerror or problem} ({order.path})"
    return Moved(order.object_id, order.path, isinstance(order, Restore), order.offset, error)


def _spill(arena_fd: int, order: Spill) -> None:
    os.makedirs(os.path.dirname(order.path), mode=0o700, exist_ok=True)
    fd = os.open(order.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _copy(arena_fd, order.offset, fd, 0, order.size)
    except OSError:
        os.unlink(order.path)
        raise
    finally:
        os.close(fd)


def _restore(arena_fd: int, order: Restore) -> None:
    fd = os.open(order.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _copy(fd, 0, arena_fd, order.offset, order.size)
    finally:
        os.close(fd)


def _copy(source: int, source_offset: int, target: int, target_offset: int, size: int) -> None:
    while size:
        data = os.pread(source, min(size, _CHUNK_BYTES), source_offset)
        if not data:
            raise OSError(5, "the file ended early")
        view = memoryview(data)
        while view:
            done = os.pwrite(target, view, target_offset)
            view = view[done:]
            target_offset += done
        source_offset += len(data)
        size -= len(data)

"""Connections come with the messages that speak of them, however many at once, and whoever lacks descriptors."""

from __future__ import annotations

import fcntl
import socket
import subprocess
import sys
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.head.connections import Peer
from tests.local_engine.scarce_descriptors import room_for
from tests.rig import DEADLINE_S, wait_until

MANY = 300  # more than a system call takes


class Ends:
    """The head's end of a connection, and a process's link."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.peer = Peer(theirs, "driver", 1)
        self.came: SimpleQueue[tuple[int, socket.socket | None]] = SimpleQueue()
        self.lost: list[str] = []
        self.link = Link(ours, on_lost=self.lost.append)
        self.link.receivers[wire.Connected] = self._connected
        self.link.start("test")

    def _connected(self, message: wire.Connected) -> None:
        self.came.put((int(message.actor_id), self.link.take_socket(message.socket)))

    def send(self, numbers: range) -> list[socket.socket]:
        """Send connections, and keep the other ends of them."""
        kept = []
        for number in numbers:
            ours, theirs = socket.socketpair()
            kept.append(ours)
            self.peer.out.append(wire.Connected(b"%d" % number, self.peer.passes(theirs)))
        wait_until(self.peer.write, "the link to read")
        return kept

    def close(self) -> None:
        self.link.close()
        self.peer.close()


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.close()


def moved_up(sock: socket.socket) -> socket.socket:
    """The same socket under a number so high that it does not make room when it is closed."""
    with sock:
        return socket.socket(fileno=fcntl.fcntl(sock, fcntl.F_DUPFD_CLOEXEC, 600))


def belongs(number: int, came: tuple[int, socket.socket | None], other: socket.socket) -> bool:
    """Whether this connection came with its message."""
    found, sock = came
    if sock is None:
        return False
    with sock:
        other.sendall(b"hello")
        return found == number and sock.recv(5) == b"hello"


def test_hundreds_of_connections_come_at_once(ends: Ends) -> None:
    kept = ends.send(range(MANY))
    for number, other in enumerate(kept):
        with other:
            assert belongs(number, ends.came.get(timeout=DEADLINE_S), other)
    assert not ends.lost


def test_without_a_free_descriptor_a_connection_does_not_come_and_no_other_takes_its_place(ends: Ends) -> None:
    kept = [socket.socketpair() for _ in range(6)]
    passed = [ends.peer.passes(moved_up(theirs)) for _, theirs in kept]
    ends.peer.out = [wire.Connected(b"%d" % number, inode) for number, inode in enumerate(passed)]
    with room_for(2):
        assert ends.peer.write()
        came = [ends.came.get(timeout=DEADLINE_S) for _ in kept]
    assert [number for number, _ in came] == list(range(6))
    there = [number for number, sock in came if sock is not None]
    assert there and len(there) < 6
    assert all(belongs(number, came[number], kept[number][0]) for number in there)
    for number, (ours, _) in enumerate(kept):
        with ours:
            ours.settimeout(DEADLINE_S)
            assert number in there or ours.recv(1) == b"", "who has the other end learns that nobody has this one"
    with ends.send(range(6, 7))[0] as later:
        assert belongs(6, ends.came.get(timeout=DEADLINE_S), later)
    assert not ends.lost


WITHOUT_STDIN = """
import os, socket
from nbaccel.local_engine.client.link import Link
link = Link(socket.socketpair()[0], on_lost=print)
os.close(0)
received, other = socket.socketpair()
assert received.fileno() == 0
inode = os.fstat(0).st_ino
link.keep_sockets([received.detach()])
assert not os.path.exists("/proc/self/fd/0")
kept = link.take_socket(inode)
print(kept.fileno() > 2 and not kept.get_inheritable() and os.fstat(kept.fileno()).st_ino == inode)
"""


def test_a_connection_that_comes_does_not_take_the_number_of_a_standard_stream() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_STDIN], capture_output=True, text=True, timeout=DEADLINE_S)
    assert (done.stdout, done.stderr) == ("True\n", "")

"""The head that the fuzzers speak to, and whether it has taken harm."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbaccel
from nbaccel import engine as engines
from nbaccel.handles.options import init_options
from nbaccel.local_engine import wire
from nbaccel.local_engine.driver import engine as driver
from nbaccel.local_engine.wire.framing import FrameReader
from nbaccel.views import sessions
from tests.census import Place
from tests.heads import inside
from tests.rig import wait_until

ANSWER_TIMEOUT_S = 90.0
ESCAPED = "the loop goes on after"  # in the head's log: an exception that was nobody's


@nbaccel.remote
def add(left: int, right: int) -> int:
    return left + right


class Victim:
    """One head of our own, with work of ours on it."""

    def __init__(self) -> None:
        engine: Any = engines.started()
        self.directory: str = engine.welcome.directory
        (self.record,) = [each for each in sessions.find() if each.session == engine.welcome.session]
        self._count = 0

    def connect(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(ANSWER_TIMEOUT_S)
        sock.connect(self.record.socket)
        return sock

    def driver(self) -> tuple[socket.socket, wire.Welcome]:
        """A connection that the head takes for a driver's."""
        sock = self.connect()
        sock.sendall(wire.frame([driver.hello("driver", self.record.token, init_options())]))
        data, fds, _flags, _address = socket.recv_fds(sock, 1 << 16, 1)
        for fd in fds:
            os.close(fd)
        welcome = FrameReader(wire.decode_to_client).feed(data)[0]
        assert type(welcome) is wire.Welcome, welcome
        return sock, welcome

    def assert_unharmed(self) -> None:
        """It works, and nothing that came from a connection has reached its loop as an exception."""
        self._count += 1
        refs = [add.remote(self._count, i) for i in range(4)]
        assert nbaccel.get(refs, timeout=120) == [self._count + i for i in range(4)]
        log = Path(self.directory, "head.log").read_text(errors="replace")
        assert ESCAPED not in log, log[log.index(ESCAPED) :][:4000]

    def assert_idle(self) -> None:
        """What the connections held is free again."""
        wait_until(lambda: nbaccel.available_resources() == nbaccel.cluster_resources(), "all resources to be free")


@contextmanager
def victim() -> Iterator[Victim]:
    """A head in a place of its own, of which nothing may be left."""
    with inside(Place()):
        nbaccel.init(num_cpus=2, num_gpus=1, object_store_memory=32 << 20, log_to_driver=False)
        head = Victim()
        yield head
        head.assert_unharmed()
        head.assert_idle()


def rest(sock: socket.socket) -> bytes:
    """All that the head still says, until it ends the connection."""
    data = b""
    while True:
        try:
            piece = sock.recv(1 << 16)
        except ConnectionResetError:
            return data
        if not piece:
            return data
        data = (data + piece)[-1000:]


def say(sock: socket.socket, pieces: list[bytes]) -> None:
    """Send what may end the connection in the middle."""
    try:
        for piece in pieces:
            sock.sendall(piece)
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the head has ended it

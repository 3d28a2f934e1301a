"""The head's side of one connection: received bytes, and messages that wait to be sent."""

from __future__ import annotations

import os
import socket
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire import framing

READ_BYTES = 1 << 16  # from 128 KiB on the C library maps fresh pages for each read: 45 µs instead of 3
_BATCH = 2_000


class Peer:
    """A driver, a worker, a news reader or an observer."""

    __slots__ = (
        "client_id",
        "closed",
        "defined",
        "descriptors",
        "functions",
        "hello",
        "job",
        "left",
        "out",
        "pending",
        "reader",
        "role",
        "sock",
        "templates",
        "watching",
        "worker",
    )  # fmt: skip

    def __init__(self, sock: socket.socket, role: str, client_id: int) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.role = role  # "new", "driver", "news", "observer", "worker"
        self.client_id = client_id
        self.reader = framing.FrameReader(wire.decode_to_head)
        self.out: list[Any] = []
        self.descriptors: list[int] = []  # to be sent, and closed then; they arrive with or before what is in `out`
        self.pending = bytearray()
        self.closed = False
        self.left = False  # it has said goodbye: its objects are released, its later messages ignored
        self.job = 0
        self.templates: dict[int, Any] = {}  # the client's numbers -> Terms
        self.defined: set[int] = set()  # the head's numbers that this worker knows
        self.functions: set[bytes] = set()
        self.worker: Any = None
        self.watching: Any = None
        self.hello: wire.Hello | None = None

    def read(self) -> list[Any] | None:
        """The received messages; None at the end of the connection. Raises framing.Unreadable."""
        try:
            data = self.sock.recv(READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            return None
        return self.reader.feed(data) if data else None

    def receive(self, most_bytes: int) -> bytes | None:
        """The received bytes, b"" if there are none; None at the end of the connection."""
        try:
            return self.sock.recv(most_bytes) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def write(self) -> bool:
        """Write waiting messages as far as the socket takes them. Returns True if none is left."""
        out = self.out
        if out:
            for start in range(0, len(out), _BATCH):
                self.pending += wire.frame(out[start : start + _BATCH] if len(out) > _BATCH else out)
            self.out = []
        while self.pending:
            try:
                done = self._send_with_descriptors() if self.descriptors else self.sock.send(self.pending)
            except BlockingIOError:
                return False
            except OSError:
                self.pending.clear()  # the other side is gone; reading will show it
                return True
            if done == len(self.pending):
                self.pending = bytearray()
            else:
                del self.pending[:done]
        return True

    def passes(self, sock: socket.socket) -> int:
        """Send this socket, and close it here. Returns what the message that speaks of it calls it."""
        inode = os.fstat(sock.fileno()).st_ino
        self.descriptors.append(sock.detach())
        return inode

    def _send_with_descriptors(self) -> int:
        leave = self.descriptors[: wire.MOST_DESCRIPTORS]
        are_all = len(leave) == len(self.descriptors)
        done = socket.send_fds(self.sock, [self.pending if are_all else self.pending[:1]], leave)
        self._close_descriptors(len(leave))
        return done

    def _close_descriptors(self, number: int) -> None:
        """Close the first so many."""
        closed, self.descriptors = self.descriptors[:number], self.descriptors[number:]
        for fd in closed:
            os.close(fd)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._close_descriptors(len(self.descriptors))
            self.sock.close()

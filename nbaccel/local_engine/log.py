"""The log process: reads every worker's stdout and stderr, writes files, and hands whole lines to the head.

```
  worker ── pipe ──► log ── file (everything)
                      └──► head ──► the driver's news connection (as fast as the driver takes it)
```
When the head has not taken `CREDIT_BYTES` yet, no pipe is read: a worker that floods waits in its own print.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
from collections.abc import Iterator
from typing import Any

import msgspec

from nbaccel.local_engine.worker_output import BEGIN, END

CREDIT_BYTES = 4 << 20
READ_BYTES = 1 << 16
LONGEST_LINE_BYTES = 1 << 16


class Add(msgspec.Struct, array_like=True, tag=True):
    """Read this worker's pipes; two descriptors come with it."""

    worker_id: str


class Taken(msgspec.Struct, array_like=True, tag=True):
    """So many bytes have reached their reader."""

    size_bytes: int


class Drain(msgspec.Struct, array_like=True, tag=True):
    """Read all that is there, then say Drained with this number."""

    number: int


class Said(msgspec.Struct, array_like=True, tag=True):
    """Whole lines of a worker."""

    worker_id: str
    stream: int
    text: bytes
    name: str
    cell: str
    parent: str
    pid: int


class Drained(msgspec.Struct, array_like=True, tag=True):
    number: int


class Closed(msgspec.Struct, array_like=True, tag=True):
    """Both of a worker's pipes have ended."""

    worker_id: str


decode_order = msgspec.msgpack.Decoder(Add | Taken | Drain).decode
decode_report = msgspec.msgpack.Decoder(Said | Drained | Closed).decode
encode = msgspec.msgpack.encode


class Pipe:
    """One stream of one worker: splits it by owner and into lines."""

    def __init__(self, worker_id: str, stream: int, fd: int, path: str) -> None:
        self.worker_id = worker_id
        self.stream = stream
        self.fd = fd
        self.owner: dict[str, Any] = {"name": "worker", "cell": "", "parent": "", "pid": 0}
        self._path = path
        self._file: Any = None
        self._rest = b""

    def read(self) -> Iterator[Said]:
        """What has come, as whole lines. Raises EOFError at the end, BlockingIOError when there is nothing."""
        data = os.read(self.fd, READ_BYTES)
        if not data:
            yield from self._lines(b"", ending=True)
            raise EOFError
        data = self._rest + data
        self._rest = b""
        while True:
            start = data.find(BEGIN)
            if start < 0:
                keep = data.endswith(BEGIN[:1])  # half a marker may follow
                yield from self._lines(data[:-1] if keep else data)
                self._rest += data[-1:] if keep else b""
                return
            stop = data.find(END, start)
            if stop < 0:
                yield from self._lines(data[:start], ending=True)
                self._rest = data[start:]
                return
            yield from self._lines(data[:start], ending=True)
            self.owner = json.loads(data[start + len(BEGIN) : stop])
            data = data[stop + len(END) :]

    def _lines(self, data: bytes, *, ending: bool = False) -> Iterator[Said]:
        """Whole lines of `data`; the rest waits for more, unless its owner is at its end."""
        data = self._rest + data
        cut = len(data) if ending or len(data) > LONGEST_LINE_BYTES else data.rfind(b"\n") + 1
        self._rest = data[cut:]
        text = data[:cut]
        if text:
            self._write(text)
            owner = self.owner
            yield Said(self.worker_id, self.stream, text, owner["name"], owner["cell"], owner["parent"], owner["pid"])

    def _write(self, text: bytes) -> None:
        try:
            if self._file is None:
                self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115 - closed with the pipe
            self._file.write(text)
        except OSError:
            pass  # a full disk: the lines still reach the notebook

    def close(self) -> None:
        os.close(self.fd)
        if self._file is not None:
            self._file.close()


class LogProcess:
    """All pipes of one head's workers."""

    def __init__(self, control: socket.socket, directory: str) -> None:
        self._control = control
        self._directory = directory
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)
        self._pipes: dict[int, Pipe] = {}
        self._paused = False
        self._untaken = 0
        os.makedirs(directory, mode=0o700, exist_ok=True)

    def run(self) -> None:
        while True:
            for key, _mask in self._selector.select():
                if key.fileobj is self._control:
                    self._obey()
                elif not self._paused:
                    self._read(self._pipes[key.fd])

    def _obey(self) -> None:
        body, fds, _flags, _address = socket.recv_fds(self._control, 65536, 8)
        if not body:
            os._exit(0)
        order = decode_order(body)
        if type(order) is Add:
            for stream, fd in enumerate(fds, 1):
                self._add(order.worker_id, stream, fd)
        elif type(order) is Taken:
            self._untaken -= order.size_bytes
            if self._paused and self._untaken < CREDIT_BYTES // 2:
                self._pause(False)
        else:
            self._drain()
            self._control.send(encode(Drained(order.number)))

    def _add(self, worker_id: str, stream: int, fd: int) -> None:
        os.set_blocking(fd, False)
        suffix = "out" if stream == 1 else "err"
        self._pipes[fd] = Pipe(
            worker_id, stream, fd, os.path.join(self._directory, f"worker-{worker_id[:16]}.{suffix}")
        )
        if not self._paused:
            self._selector.register(fd, selectors.EVENT_READ)

    def _pause(self, paused: bool) -> None:
        """Stop or go on reading pipes: an unread pipe that is ready must not wake us."""
        self._paused = paused
        for fd in self._pipes:
            if paused:
                self._selector.unregister(fd)
            else:
                self._selector.register(fd, selectors.EVENT_READ)

    def _read(self, pipe: Pipe) -> bool:
        """Read once; False when there was nothing (or it ended)."""
        try:
            for said in pipe.read():
                self._say(said)
        except BlockingIOError:
            return False
        except (EOFError, OSError):
            self._end(pipe)
            return False
        return True

    def _say(self, said: Said) -> None:
        self._control.send(encode(said))
        self._untaken += len(said.text)
        if self._untaken > CREDIT_BYTES and not self._paused:
            self._pause(True)

    def _end(self, pipe: Pipe) -> None:
        if not self._paused:
            self._selector.unregister(pipe.fd)
        del self._pipes[pipe.fd]
        pipe.close()
        if not any(other.worker_id == pipe.worker_id for other in self._pipes.values()):
            self._control.send(encode(Closed(pipe.worker_id)))

    def _drain(self) -> None:
        for pipe in list(self._pipes.values()):
            while pipe.fd in self._pipes and self._read(pipe):
                pass


def main(control: socket.socket, arena_fd: int, directory: str) -> None:
    """Run as the log process; `control` is a SOCK_SEQPACKET to the head."""
    os.close(arena_fd)
    LogProcess(control, directory).run()

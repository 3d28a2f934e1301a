"""The log process: looks into every worker's stdout and stderr, writes files, and hands whole lines to the head.

```
  worker ── pipe ──► log looks (tee) ── file (everything)
               │          └── Chunk ──► head ──► the driver's news connection (as fast as the driver takes it)
               └◄─ takes what the Chunk told ─┘ └── Go ──► log looks again
```
The log process only looks; the head takes the bytes from the pipe when it has the lines. A log process that is killed
at any moment therefore loses nothing and repeats nothing: its successor finds the bytes that nobody has taken in the
pipe. A worker that floods its pipe waits in its own print.
"""

from __future__ import annotations

import ctypes
import os
import selectors
import socket

import msgspec

from nbaccel.local_engine import process
from nbaccel.local_engine.worker.worker_output import BEGIN, END

LOOK_BYTES = 1 << 15  # the rest and the lines together fit into one message (212,992 bytes)
PIPE_BYTES = 1 << 16  # that Linux keeps in a pipe
LONGEST_LINE_BYTES = 1 << 15
LONGEST_MARKER_BYTES = 1 << 13
_SPLICE_F_NONBLOCK = 2
_tee = ctypes.CDLL(None, use_errno=True).tee


class Owner(msgspec.Struct):
    """The task that a line belongs to, with its cell and its process."""

    name: str
    cell: str
    parent: str
    pid: int


NO_OWNER = b'{"name": "worker", "cell": "", "parent": "", "pid": 0}'  # output before the first task


class Add(msgspec.Struct, array_like=True, tag=True):
    """Watch this pipe from now on; its descriptor comes with the message."""

    pipe: int
    path: str
    rest: bytes = b""  # the beginning of an unfinished line, already read from the pipe
    owner: bytes = NO_OWNER
    written: int = 0  # bytes in the file


class Go(msgspec.Struct, array_like=True, tag=True):
    """Look again, because the last Chunk of this pipe was taken."""

    pipe: int


class Drain(msgspec.Struct, array_like=True, tag=True):
    """Send Drained with this number once every pipe has been seen empty."""

    number: int


class Piece(msgspec.Struct, array_like=True):
    """Whole lines of one task, or the current text of a line that redraws itself, such as a bar."""

    text: bytes
    owner: Owner


class Chunk(msgspec.Struct, array_like=True, tag=True):
    """What was seen in a pipe: the head takes `taken` bytes from it and remembers `rest` for a successor."""

    pipe: int
    taken: int
    pieces: list[Piece]
    rest: bytes
    owner: bytes
    written: int
    ended: bool = False


class NoSpace(msgspec.Struct, array_like=True, tag=True):
    """The pipe could not be taken: too many files are open."""

    pipe: int


class Drained(msgspec.Struct, array_like=True, tag=True):
    number: int


decode_order = msgspec.msgpack.Decoder(Add | Go | Drain).decode
decode_report = msgspec.msgpack.Decoder(Chunk | NoSpace | Drained).decode
encode = msgspec.msgpack.encode


decode_owner = msgspec.json.Decoder(Owner).decode


def _is_owner(facts: bytes) -> bool:
    try:
        decode_owner(facts)
    except (ValueError, RecursionError):  # msgspec's errors for bytes that are not an Owner
        return False
    return True


class Peephole:
    """Looks at a pipe's content without taking it."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def look(self, fd: int, most: int = LOOK_BYTES) -> bytes | None:
        """The bytes in the pipe; b"" when all writers have gone, None when the pipe is empty now."""
        count = _tee(fd, self._write, most, _SPLICE_F_NONBLOCK)
        if count > 0:
            return os.read(self._read, count)
        return b"" if count == 0 else None

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


class Pipe:
    """One stream of one worker: splits it by owner and into lines."""

    def __init__(self, add: Add, fd: int) -> None:
        self.number = add.pipe
        self.fd = fd
        self.reported = False  # a Chunk was reported and not yet confirmed: do not read this pipe
        self.ended = False
        self._rest = add.rest
        self._owner = add.owner
        self._path = add.path
        self._written = add.written
        self._file = -1

    def chunk(self, data: bytes) -> Chunk:
        """The Chunk for bytes that were seen; b"" means that the pipe has ended."""
        self.ended = not data
        pieces: list[Piece] = []
        rest = self._rest + data
        position = 0
        while (start := rest.find(BEGIN, position)) >= 0:
            stop = rest.find(END, start, start + LONGEST_MARKER_BYTES)
            if stop < 0 and len(rest) - start < LONGEST_MARKER_BYTES and not self.ended:
                break
            facts = rest[start + len(BEGIN) : max(stop, 0)]
            if not _is_owner(facts):  # a task printed these bytes itself
                position = start + len(BEGIN)
                continue
            self._add(pieces, rest[:start])
            self._owner = facts
            rest, position = rest[stop + len(END) :], 0
        self._rest = self._whole_lines(pieces, rest, start)
        return Chunk(self.number, len(data), pieces, self._rest, self._owner, self._written, self.ended)

    def _whole_lines(self, pieces: list[Piece], rest: bytes, marker: int) -> bytes:
        """Move whole lines from `rest` to the pieces; a line that is too long and a bar go before they end."""
        cut = rest.rfind(b"\n") + 1
        if marker >= 0:  # half a marker follows: text before it belongs to the old owner, even half a line
            cut = marker
        elif self.ended or len(rest) - cut > LONGEST_LINE_BYTES or b"\r" in rest[cut:]:
            cut = len(rest) - (rest.endswith(BEGIN[:1]) and not self.ended)
        self._add(pieces, rest[:cut])
        return rest[cut:]

    def _add(self, pieces: list[Piece], text: bytes) -> None:
        if text:
            self._write(text)
            pieces.append(Piece(text, decode_owner(self._owner)))

    def _write(self, text: bytes) -> None:
        """Write at a known offset, so that a successor overwrites the same bytes."""
        try:
            if self._file < 0:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.pwrite(self._file, text, self._written)
        except OSError:
            pass  # the disk is full: the lines still reach the notebook
        self._written += len(text)

    def close(self) -> None:
        for fd in (self.fd, self._file):
            if fd >= 0:
                os.close(fd)


class LogProcess:
    """All pipes of one head's workers."""

    def __init__(self, control: socket.socket, directory: str) -> None:
        self._control = control
        self._peephole = Peephole()
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)
        self._pipes: dict[int, Pipe] = {}
        self._drains: dict[int, set[int]] = {}  # number -> pipes that have not been found empty
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
        except OSError:
            pass  # the disk is full: no files are written

    def run(self) -> None:
        while True:
            for key, _mask in self._selector.select():
                if key.fileobj is self._control:
                    self._obey()
                else:
                    self._selector.unregister(key.fd)
                    self._look(key.data)

    def _obey(self) -> None:
        body, fds, _flags, _address = socket.recv_fds(self._control, 1 << 18, 1)
        if not body:
            os._exit(0)
        order = decode_order(body)
        if type(order) is Add and not fds:
            self._control.send(encode(NoSpace(order.pipe)))
        elif type(order) is Add:
            pipe = self._pipes[order.pipe] = Pipe(order, fds[0])
            os.set_blocking(pipe.fd, False)
            self._look(pipe)
        elif type(order) is Go:
            self._go_on(self._pipes[order.pipe])
        else:
            self._drain(order.number)

    def _look(self, pipe: Pipe) -> None:
        """Report the content of a pipe, or register the pipe and wait for content. It is not registered now."""
        data = self._peephole.look(pipe.fd)
        if data is None:
            self._selector.register(pipe.fd, selectors.EVENT_READ, pipe)
            self._seen_empty(pipe.number)
            return
        pipe.reported = True
        self._control.send(encode(pipe.chunk(data)))

    def _go_on(self, pipe: Pipe) -> None:
        pipe.reported = False
        if not pipe.ended:
            self._look(pipe)
            return
        del self._pipes[pipe.number]
        pipe.close()
        self._seen_empty(pipe.number)

    def _drain(self, number: int) -> None:
        self._drains[number] = set(self._pipes)
        for pipe in list(self._pipes.values()):
            if not pipe.reported:
                self._selector.unregister(pipe.fd)
                self._look(pipe)
        self._seen_empty(-1)

    def _seen_empty(self, pipe: int) -> None:
        for number, waiting in list(self._drains.items()):
            waiting.discard(pipe)
            if not waiting:
                del self._drains[number]
                self._control.send(encode(Drained(number)))


def main(control: socket.socket, arena_fd: int, directory: str) -> None:
    """Run as the log process; `control` is a SOCK_SEQPACKET to the head."""
    os.close(arena_fd)
    process.raise_descriptor_limit()
    LogProcess(control, directory).run()

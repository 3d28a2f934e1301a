"""The last lines that a worker has written to its stderr: often the only reason for the end of a process."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from nbaccel.local_engine.side_processes import log
from nbaccel.views import sinks

_MOST_BYTES = 2_000  # that are kept of a worker
_MOST_LINES = 6
_LONGEST_LINE = 200  # characters


class LastLines(Struct):
    """The end of what a worker has written for one task, since lines of an earlier task explain nothing."""

    text: bytes = b""
    owner: bytes = log.NO_OWNER

    def add(self, chunk: log.Chunk) -> None:
        if chunk.owner != self.owner:
            self.text, self.owner = b"", chunk.owner
        owner = log.decode_owner(chunk.owner)
        own = b"".join(piece.text for piece in chunk.pieces if piece.owner == owner)
        self.text = (self.text + own)[-_MOST_BYTES:]

    def words(self) -> str:
        """The lines, "" if there are none."""
        lines = [sinks.last_frame(line).rstrip() for line in self.text.decode("utf-8", "replace").split("\n")]
        return "\n".join(line[:_LONGEST_LINE] for line in [line for line in lines if line][-_MOST_LINES:])


class Unread(log.Pipe):
    """What is in a pipe and has not been taken, as the log process will see it; its file is left alone."""

    def __init__(self, fd: int, rest: bytes, owner: bytes) -> None:
        super().__init__(log.Add(0, "", rest, owner), fd)

    def chunks(self) -> Iterator[log.Chunk]:
        """All of it, and then a line that is not whole."""
        peephole = log.Peephole()
        try:
            seen = peephole.look(self.fd, log.PIPE_BYTES)
        finally:
            peephole.close()
        if seen:
            yield self.chunk(seen)
        yield self.chunk(b"")

    def _write(self, text: bytes) -> None:
        pass

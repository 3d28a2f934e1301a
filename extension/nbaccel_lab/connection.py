"""One connection to a head: questions, their answers in order, and the snapshots that come between them.

```
  ask({"ask": "logs"})  ──► line ──► head ──► line ──► the oldest question without an answer
  watch(rows)           ──► line ──► head ──► lines ─► heard(text), as often as something changes
```
Everything has a deadline. After a missed one the connection is closed, since a late answer would be taken for the next.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from nbaccel_lab.runtimes import PROTOCOL, RuntimeRecord

ANSWER_TIMEOUT_S = 10.0  # a head answers in milliseconds, and later on a machine that stands still now and then
MOST_LINE_BYTES = 32 << 20
LARGE_BYTES = 1 << 16  # a longer line is read as JSON in a thread: a megabyte takes ten milliseconds


class HeadUnavailable(Exception):
    """The head does not answer, has ended, or speaks another version; the message is a sentence for a person."""


class HeadRefused(Exception):
    """The head has answered that it does not do it, in these words."""


class Connection:
    """A connection that has shown the token."""

    def __init__(self, record: RuntimeRecord, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.record = record
        self.heard: Callable[[str, dict[str, Any]], None] | None = None  # a snapshot's line, and what it says
        self._reader = reader
        self._writer = writer
        self._unanswered: deque[tuple[str, asyncio.Future[dict[str, Any]]]] = deque()
        self._why_closed = ""
        self.reading: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, record: RuntimeRecord, timeout_s: float = ANSWER_TIMEOUT_S) -> Connection:
        """Connect and show the token. Raises HeadUnavailable."""
        if not record.speaks_ours:
            raise HeadUnavailable(record.other_version)
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_unix_connection(record.socket, limit=MOST_LINE_BYTES)
                connection = cls(record, reader, writer)
                try:
                    await connection._greet()
                except BaseException:
                    connection.close()
                    raise
        except TimeoutError:
            raise HeadUnavailable(f"{_name(record)} has not answered within {timeout_s:g} s.") from None
        except OSError as error:
            why = error.strerror or "its connection was closed"
            raise HeadUnavailable(f"{_name(record)} does not answer at its socket: {why}.") from None
        connection.reading = asyncio.create_task(connection._read())
        return connection

    async def _greet(self) -> None:
        sock = self._writer.get_extra_info("socket")
        _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid != os.getuid():
            raise HeadUnavailable(f"The process behind the socket of {_name(self.record)} is another user's.")
        self._write({"token": self.record.token})
        welcome = await self._next_line()
        if welcome is None or welcome[1].get("kind") != "welcome":
            said = "" if welcome is None else f": {welcome[1].get('message', '')}"
            raise HeadUnavailable(f"{_name(self.record)} refused the connection{said}.")
        if welcome[1].get("protocol") != PROTOCOL:
            raise HeadUnavailable(
                f"{_name(self.record)} speaks version {welcome[1].get('protocol')} of the observers' protocol, and "
                f"nbaccel-lab speaks version {PROTOCOL}."
            )

    @property
    def closed(self) -> bool:
        return bool(self._why_closed)

    def watch(self, on: bool, rows: int = 0) -> None:
        """Ask for the current snapshot and every later one, or for no more of them."""
        self._write({"ask": "watch", "on": on, "rows": rows})

    async def ask(self, question: dict[str, Any], timeout_s: float = ANSWER_TIMEOUT_S) -> dict[str, Any]:
        """The answer to a question. Raises HeadUnavailable, HeadRefused."""
        if self.closed:
            raise HeadUnavailable(self._why_closed)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._unanswered.append((str(question.get("ask")), answer))
        self._write(question)
        try:
            async with asyncio.timeout(timeout_s):
                said = await asyncio.shield(answer)
        except TimeoutError:
            self.close(f"{_name(self.record)} has not answered within {timeout_s:g} s.")
            raise HeadUnavailable(self._why_closed) from None
        finally:
            answer.add_done_callback(_retrieved)
        if said.get("kind") == "error":
            raise HeadRefused(str(said.get("message", "")))
        return said

    def close(self, why: str = "") -> None:
        """End the connection; questions without an answer fail with this sentence."""
        if self._why_closed:
            return
        self._why_closed = why or f"The connection to {_name(self.record)} was closed."
        self._writer.close()
        if self.reading is not None:
            self.reading.cancel()
        while self._unanswered:
            _, answer = self._unanswered.popleft()
            if not answer.done():
                answer.set_exception(HeadUnavailable(self._why_closed))

    async def ended(self) -> str:
        """Wait for the end of the connection; returns why it ended."""
        if self.reading is not None:
            await asyncio.wait([self.reading])
        return self._why_closed

    # ---- lines

    def _write(self, line: dict[str, Any]) -> None:
        self._writer.write(json.dumps(line).encode() + b"\n")

    async def _next_line(self) -> tuple[str, dict[str, Any]] | None:
        """The next line and what it says; None at the end."""
        try:
            line = await self._reader.readline()
        except ValueError:
            raise HeadUnavailable(
                f"{_name(self.record)} has sent a line of more than {MOST_LINE_BYTES:,} bytes."
            ) from None
        if not line.endswith(b"\n"):
            return None
        try:
            said = await asyncio.to_thread(json.loads, line) if len(line) > LARGE_BYTES else json.loads(line)
            if not isinstance(said, dict):
                raise ValueError
            return line.decode().strip(), said
        except (ValueError, RecursionError):
            raise HeadUnavailable(f"{_name(self.record)} has sent something else than a line of JSON.") from None

    async def _read(self) -> None:
        try:
            while (read := await self._next_line()) is not None:
                self._sort(*read)
            self.close(f"{_name(self.record)} has ended.")
        except HeadUnavailable as error:
            self.close(str(error))
        except OSError:
            self.close(f"{_name(self.record)} has ended.")

    def _sort(self, line: str, said: dict[str, Any]) -> None:
        """Give a line to whom it is for. A snapshot may be the answer to a question or have come by itself."""
        is_snapshot = said.get("kind") == "snapshot"
        if is_snapshot and self.heard is not None:
            self.heard(line, said)
        if self._unanswered and (not is_snapshot or self._unanswered[0][0] == "snapshot"):
            _, answer = self._unanswered.popleft()
            if not answer.done():
                answer.set_result(said)


class Connections:
    """At most one connection to each head, for as long as somebody uses it."""

    def __init__(self, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._open: dict[str, _Shared] = {}

    @asynccontextmanager
    async def borrowed(self, record: RuntimeRecord) -> AsyncIterator[Connection]:
        """The connection to a head. Raises HeadUnavailable."""
        shared = self._open.get(record.id)
        if shared is None or shared.is_over():
            shared = self._open[record.id] = _Shared(asyncio.ensure_future(Connection.open(record, self._timeout_s)))
        shared.users += 1
        try:
            yield await asyncio.shield(shared.opening)
        finally:
            shared.users -= 1
            if not shared.users:
                shared.end()
                if self._open.get(record.id) is shared:
                    del self._open[record.id]

    async def ask(self, record: RuntimeRecord, question: dict[str, Any]) -> dict[str, Any]:
        """The answer of a head. Raises HeadUnavailable, HeadRefused."""
        async with self.borrowed(record) as connection:
            return await connection.ask(question, self._timeout_s)

    def __len__(self) -> int:
        return len(self._open)


class _Shared:
    """A connection, or its opening, and how many use it."""

    def __init__(self, opening: asyncio.Future[Connection]) -> None:
        self.opening = opening
        self.users = 0
        opening.add_done_callback(_retrieved)

    def is_over(self) -> bool:
        if not self.opening.done():
            return False
        return self.opening.cancelled() or self.opening.exception() is not None or self.opening.result().closed

    def end(self) -> None:
        if not self.opening.done():
            self.opening.cancel()
        elif not self.is_over():
            self.opening.result().close()


def _retrieved(future: asyncio.Future[Any]) -> None:
    """Take note of a failure that nobody may wait for any more."""
    if not future.cancelled():
        future.exception()


def _name(record: RuntimeRecord) -> str:
    return f"The head of {record.title or 'a runtime'} (pid {record.pid})"

"""The snapshots of one runtime, for all tabs that want them: at once, and then at most four times a second."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from nbaccel_lab.connection import Connection, Connections, HeadUnavailable
from nbaccel_lab.runtimes import RuntimeRecord

LEAST_PAUSE_S = 0.25
FIRST_TIMEOUT_S = 10.0
PAUSES_S = (1.0, 2.0, 4.0, 10.0)  # before a connection is tried again


class Feed:
    """Watches a runtime until it is ended. `came` is called with its id and a message for browsers."""

    def __init__(
        self,
        record: RuntimeRecord,
        connections: Connections,
        came: Callable[[str, str], None],
        changed: Callable[[], None],
        *,
        first_timeout_s: float = FIRST_TIMEOUT_S,
        least_pause_s: float = LEAST_PAUSE_S,
    ) -> None:
        self.state = "found"  # then "connected", or "silent" with a reason
        self.reason = ""
        self.latest: dict[str, Any] | None = None
        self.text = ""  # the message with the latest snapshot
        self._record = record
        self._came = came
        self._changed = changed
        self._first_timeout_s = first_timeout_s
        self._least_pause_s = least_pause_s
        self._rows = 0
        self._connection: Connection | None = None
        self._first = asyncio.Event()
        self._due = 0.0
        self._later: asyncio.TimerHandle | None = None
        self._watching = asyncio.create_task(self._keep_watching(connections))

    def want(self, rows: int) -> None:
        """Have so many rows of tasks in each snapshot."""
        if rows != self._rows:
            self._rows = rows
            if self._connection is not None and not self._connection.closed:
                self._connection.watch(True, rows)

    async def end(self) -> None:
        self._forget_later()
        self._watching.cancel()
        await asyncio.wait([self._watching])

    async def _keep_watching(self, connections: Connections) -> None:
        tries = 0
        while True:
            try:
                async with connections.borrowed(self._record) as connection:
                    try:
                        await self._watch(connection)
                        tries = 0
                        reason = await connection.ended()
                    finally:
                        self._leave(connection)
            except HeadUnavailable as error:
                reason = str(error)
            self._say("silent", reason)
            await asyncio.sleep(PAUSES_S[min(tries, len(PAUSES_S) - 1)])
            tries += 1

    async def _watch(self, connection: Connection) -> None:
        """Begin to watch, and wait for the first snapshot or the end. Raises HeadUnavailable."""
        self._first.clear()
        self._connection, connection.heard = connection, self._heard
        connection.watch(True, self._rows)
        first, ended = asyncio.create_task(self._first.wait()), asyncio.create_task(connection.ended())
        try:
            done, _ = await asyncio.wait(
                [first, ended], timeout=self._first_timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            first.cancel()
            ended.cancel()
        if not done:
            connection.close(f"The runtime has sent no snapshot within {self._first_timeout_s:g} s.")
        if first not in done:
            raise HeadUnavailable(await connection.ended())
        self._say("connected", "")

    def _leave(self, connection: Connection) -> None:
        """Others may use the connection on; a later feed of the runtime may already listen to it."""
        self._connection = None
        self._forget_later()
        if connection.heard == self._heard:
            connection.heard = None
            if not connection.closed:
                connection.watch(False)

    def _say(self, state: str, reason: str) -> None:
        if (state, reason) != (self.state, self.reason):
            self.state, self.reason = state, reason
            self._changed()

    # ---- snapshots

    def _heard(self, line: str, said: dict[str, Any]) -> None:
        snapshot = said.get("snapshot")
        if not isinstance(snapshot, dict):
            return
        self.latest = snapshot
        # The line is an object already: the message is the line with two more fields, which count as the last ones.
        self.text = f'{line[:-1]},"type":"snapshot","runtime":{json.dumps(self._record.id)}}}'
        self._first.set()
        now = asyncio.get_running_loop().time()
        if now >= self._due:
            self._send()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_at(self._due, self._send)

    def _send(self) -> None:
        self._forget_later()
        self._due = asyncio.get_running_loop().time() + self._least_pause_s
        self._came(self._record.id, self.text)

    def _forget_later(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None

"""Runs the sampler process, while somebody wants to know about this machine."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

FIRST_TIMEOUT_S = 20.0  # a vendor's library takes up to ten seconds to wake sleeping devices
AGAIN_AFTER_S = 5.0
MOST_LINE_BYTES = 4 << 20
COMMAND = (sys.executable, "-m", "nbaccel_lab.sampler")


class Sampler:
    """What the sampler has said, and the process itself. `changed` is called with each machine that looks different."""

    def __init__(self, changed: Callable[[dict[str, Any]], None], command: Sequence[str] = COMMAND) -> None:
        self.latest: dict[str, Any] | None = None
        self._changed = changed
        self._command = command
        self._users = 0
        self._running: asyncio.Task[None] | None = None
        self._came = asyncio.Event()

    @property
    def runs(self) -> bool:
        return self._running is not None

    @asynccontextmanager
    async def borrowed(self) -> AsyncIterator[None]:
        """Keeps the process running."""
        self.begin()
        try:
            yield
        finally:
            await self.end()

    def begin(self) -> None:
        self._users += 1
        if self._running is None:
            self.latest = None
            self._came.clear()
            self._running = asyncio.create_task(self._run())

    async def end(self) -> None:
        """One user less: without any, the process ends before this returns."""
        self._users -= 1
        running = self._running
        if self._users or running is None:
            return
        self._running = None
        running.cancel()
        await asyncio.wait([running])

    async def machine(self, timeout_s: float = FIRST_TIMEOUT_S) -> dict[str, Any]:
        """What is known now; starts the process for it if it does not run. Raises TimeoutError."""
        async with self.borrowed():
            async with asyncio.timeout(timeout_s):
                await self._came.wait()
            assert self.latest is not None
            return self.latest

    async def _run(self) -> None:
        """Read lines until cancelled; a process that ends is started again after a while."""
        while True:
            try:
                await self._read_one_process()
                reason = "The sampler of nbaccel-lab has ended; it is started again."
            except OSError as error:
                reason = f"The sampler of nbaccel-lab could not be started: {error.strerror}."
            self._take({"time": 0.0, "devices": [], "reason": reason, "others": "", "host": None})
            await asyncio.sleep(AGAIN_AFTER_S)

    async def _read_one_process(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=MOST_LINE_BYTES,
        )
        assert process.stdout is not None
        try:
            while line := await process.stdout.readline():
                self._take(json.loads(line))
        except ValueError:
            pass  # no line of JSON: the process is ended and started again
        finally:
            if process.returncode is None:
                process.kill()  # it holds nothing that it would have to put back
            await asyncio.shield(process.wait())

    def _take(self, machine: dict[str, Any]) -> None:
        is_new = self.latest is None or {**self.latest, "time": 0} != {**machine, "time": 0}
        self.latest = machine
        self._came.set()
        if is_new:
            self._changed(machine)

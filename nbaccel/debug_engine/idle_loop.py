"""An event loop that stops by itself when its tasks can only wait for code outside of the loop."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any


class _Selector(selectors.DefaultSelector):
    """Stops the loop when the loop would sleep forever."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: asyncio.AbstractEventLoop | None = None

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None and self.loop is not None:  # no callback is due, no timer is set
            self.loop.stop()
            return super().select(0)
        return super().select(timeout)


class IdleLoop:
    """The event loop of one asyncio actor."""

    def __init__(self) -> None:
        selector = _Selector()
        self.loop = asyncio.SelectorEventLoop(selector)
        selector.loop = self.loop
        self._closing = False

    def run(self) -> None:
        """Run until every task is done or waits for something that this loop cannot deliver."""
        with _no_loop_around():
            self.loop.run_forever()
            if self._closing:
                self._close()

    def outcome(self, coroutine: Coroutine[Any, Any, Any], who: str) -> Any:
        """Run a coroutine and return its result. Raises RuntimeError when it waits for code outside of the loop."""
        task = self.loop.create_task(coroutine)
        self.run()
        if not task.done():
            task.cancel()
            raise RuntimeError(f"{who} waits for something that nobody here will bring")
        return task.result()

    def close(self) -> None:
        """Cancel every task, then close the loop; a loop that is running closes as soon as it stops."""
        if self.loop.is_running():
            self._closing = True
            self.loop.stop()
        elif not self.loop.is_closed():
            with _no_loop_around():
                self._close()

    def _close(self) -> None:
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_forever()
        self.loop.close()


@contextmanager
def _no_loop_around() -> Iterator[None]:
    """Hide the loop in which a notebook's cell runs: asyncio allows one running loop in a thread."""
    outer = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(outer)

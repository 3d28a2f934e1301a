"""What a Pool gives before its values are there: results of one call, of a whole map, and of a map that streams."""

import queue
import threading
from collections.abc import Callable, Iterator
from multiprocessing import TimeoutError
from typing import Any

from nbaccel.waits import interruptible

Outcome = tuple[bool, Any]  # (True, value) or (False, exception) of one item


class PoolTaskError(Exception):
    """What a call raised, as a value, where nothing is raised: to `error_callback` and from `imap`, as in Ray."""

    def __init__(self, underlying: BaseException) -> None:
        super().__init__(underlying)
        self.underlying = underlying


class AsyncResult:
    """The result of `apply_async` (one item) or `map_async` (a list of them), as in multiprocessing."""

    def __init__(
        self,
        chunk_count: int,
        *,
        single: bool,
        callback: Callable[[Any], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
    ) -> None:
        self._chunks: list[list[Outcome]] = [[] for _ in range(chunk_count)]
        self._missing = chunk_count
        self._single = single
        self._callback = callback
        self._error_callback = error_callback
        self._done = threading.Event()
        self._value: Any = [] if not chunk_count else None
        self._error: BaseException | None = None
        if not chunk_count:
            self._finish()

    def get(self, timeout: float | None = None) -> Any:
        """The value; raises what the function raised, or multiprocessing.TimeoutError."""
        if not interruptible.until(self._done.wait, timeout):
            raise TimeoutError(f"{self._missing} of {len(self._chunks)} chunks are not done within {timeout} s")
        if self._error is not None:
            raise self._error
        return self._value

    def wait(self, timeout: float | None = None) -> None:
        interruptible.until(self._done.wait, timeout)

    def ready(self) -> bool:
        return self._done.is_set()

    def successful(self) -> bool:
        """Whether nothing was raised. Raises ValueError while the result is not ready."""
        if not self.ready():
            raise ValueError("The result is not ready: wait for it before asking whether it was successful.")
        return self._error is None

    def chunk_done(self, index: int, outcomes: list[Outcome]) -> None:
        """Told by the pool; the last chunk makes the result ready."""
        self._chunks[index] = outcomes
        self._missing -= 1
        if self._missing == 0:
            self._collect()
            self._finish()

    def _collect(self) -> None:
        items = [outcome for chunk in self._chunks for outcome in chunk]
        self._error = next((value for succeeded, value in items if not succeeded), None)
        if self._error is None:
            values = [value for _, value in items]
            self._value = values[0] if self._single else values

    def _finish(self) -> None:
        try:
            if self._error is None and self._callback is not None:
                self._callback(self._value)
            elif self._error is not None and self._error_callback is not None:
                self._error_callback(PoolTaskError(self._error))
        finally:
            self._done.set()


class StreamedResult:
    """The iterator of `imap` (ordered) and `imap_unordered`; `next(timeout)` as in multiprocessing.

    Chunks are submitted as results are taken, a few ahead, so that the iterable may be endless.
    """

    def __init__(self, submit_next: Callable[["StreamedResult", int], bool], ahead: int, *, ordered: bool) -> None:
        self._submit_next = submit_next  # (who to tell, chunk index) -> False when the iterable is at its end
        self._ordered = ordered
        self._arrived: queue.SimpleQueue[tuple[int, list[Outcome]]] = queue.SimpleQueue()
        self._early: dict[int, list[Outcome]] = {}  # ordered: chunks that arrived before their turn
        self._ready: list[Outcome] = []  # of the current chunk, last first
        self._submitted = 0
        self._taken = 0
        self._at_end = False
        for _ in range(ahead):
            self._submit()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self, timeout: float | None = None) -> Any:
        """The next value, a PoolTaskError for an item whose call raised; raises StopIteration or TimeoutError."""
        while not self._ready:
            if self._taken == self._submitted:
                raise StopIteration
            self._ready = self._next_chunk(timeout)[::-1]
            self._submit()
        succeeded, value = self._ready.pop()
        return value if succeeded else PoolTaskError(value)

    def chunk_done(self, index: int, outcomes: list[Outcome]) -> None:
        """Told by the pool."""
        self._arrived.put((index, outcomes))

    def _next_chunk(self, timeout: float | None) -> list[Outcome]:
        while not (self._ordered and self._taken in self._early):
            index, outcomes = self._arrival(timeout)
            if not self._ordered:
                self._taken += 1
                return outcomes
            self._early[index] = outcomes
        self._taken += 1
        return self._early.pop(self._taken - 1)

    def _arrival(self, timeout: float | None) -> tuple[int, list[Outcome]]:
        found: list[tuple[int, list[Outcome]]] = []

        def look(seconds: float | None) -> bool:
            try:
                found.append(
                    self._arrived.get(timeout=None if seconds is None else min(seconds, threading.TIMEOUT_MAX))
                )
            except queue.Empty:
                return False
            return True

        if not interruptible.until(look, timeout):
            raise TimeoutError(f"no result within {timeout} s")
        return found[0]

    def _submit(self) -> None:
        if not self._at_end:
            self._at_end = not self._submit_next(self, self._submitted)
            self._submitted += not self._at_end

"""Futures of refs: Stop ends a wait for one and cancels its task, also where `concurrent.futures` waits for several.

```
  futures.wait([f, g]) ── its waiter joins the waiters of f and of g ──► its event becomes ours, which knows both refs
  Stop ──► our event, in which the cell waits ──► stopping.waiting_was_stopped([f's ref, g's ref])
```
`concurrent.futures` tells nobody who waits. `_waiters` of a future and `event` of a waiter are names of its own, the
same in Python 3.11 to 3.14; without them a wait ends without cancelling anything.
"""

from __future__ import annotations

import threading
from concurrent import futures
from typing import TYPE_CHECKING, Any, TypeVar

from nbaccel.waits import interruptible, stopping

if TYPE_CHECKING:
    from nbaccel.handles.refs import ObjectRef

T = TypeVar("T")


class _Event(threading.Event):
    """What a waiter waits for: it notices Stop, and cancels the tasks of these refs."""

    def __init__(self) -> None:
        super().__init__()
        self.refs: list[ObjectRef[Any]] = []

    def wait(self, timeout: float | None = None) -> bool:
        if threading.current_thread() is not threading.main_thread():
            return stopping.wait_in_thread(lambda: interruptible.until(super(_Event, self).wait, timeout), self.refs)
        try:
            return interruptible.until(super().wait, timeout)
        except KeyboardInterrupt:
            stopping.waiting_was_stopped(self.refs)
            raise


class _Waiters(list[Any]):
    """The waiters of a future. It does not know the future: a cycle would keep the value until it is collected."""

    def __init__(self, ref: ObjectRef[Any]) -> None:
        super().__init__()
        self.ref: ObjectRef[Any] | None = ref

    def append(self, waiter: Any) -> None:
        if type(getattr(waiter, "event", None)) is threading.Event:
            waiter.event = _Event()  # nobody waits yet: it joins all its futures first
        if self.ref is not None and isinstance(getattr(waiter, "event", None), _Event):
            waiter.event.refs.append(self.ref)
        super().append(waiter)


class RefFuture(futures.Future[T]):
    """The value of a ref as a `concurrent.futures.Future`."""

    def __init__(self, ref: ObjectRef[T]) -> None:
        super().__init__()
        self._waiters: _Waiters = _Waiters(ref)

    @property
    def waited_ref(self) -> ObjectRef[T] | None:
        """The ref until its value has come; a future that lives on keeps the value and not the object."""
        return self._waiters.ref

    def result(self, timeout: float | None = None) -> T:
        """The value; Stop cancels the task as it does in `get`."""
        self._wait(timeout)
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What the task raised; Stop cancels the task as it does in `get`."""
        self._wait(timeout)
        return super().exception(0)

    def _wait(self, timeout_s: float | None) -> None:
        if not self.done():
            futures.wait([self], timeout_s)

    def cancel(self) -> bool:
        """Expect the value no more; the task goes on."""
        is_cancelled = super().cancel()
        if is_cancelled:
            self._waiters.ref = None
        return is_cancelled

    def set_result(self, result: T) -> None:
        super().set_result(result)
        self._waiters.ref = None

    def set_exception(self, exception: BaseException | None) -> None:
        super().set_exception(exception)
        self._waiters.ref = None

"""max_pending_calls: how many calls of this process an actor has not answered yet."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from nbaccel import exceptions
from nbaccel.handles.remote import ActorMethod, ObjectRef


class _Values(Protocol):
    """Tells when an object is there."""

    def when_ready(self, ids: list[bytes], callback: Callable[[bytes], None]) -> list[bytes]: ...

    def first_ready(self, ids: list[bytes], most: int) -> list[bytes]: ...


class PendingCalls:
    """Open calls of the actors that have a limit."""

    def __init__(self, values: _Values) -> None:
        self._values = values
        self._open: dict[bytes, set[bytes]] = {}  # actor -> the first result of each open call
        self._lock = threading.Lock()

    def check(self, method: ActorMethod) -> None:
        """Raises PendingCallsLimitExceeded if the actor has reached its limit."""
        limit, handle = method._spec.max_pending, method.handle
        actor_id = handle._actor_id_bytes
        pending = self._number(actor_id)
        if pending >= limit:  # a result can be read a moment before the thread that reads has said so here
            with self._lock:
                ids = list(self._open.get(actor_id, ()))
            for id in self._values.first_ready(ids, len(ids)):
                self._answered(actor_id, id)
            pending = self._number(actor_id)
        if pending >= limit:
            raise exceptions.PendingCallsLimitExceeded(
                f"The task {method._spec.name} could not be submitted to {handle!r} because {pending} calls are "
                f"pending there and its max_pending_calls is {limit}. Wait for some of them, or raise the limit."
            )

    def count(self, method: ActorMethod, returned: Any) -> None:
        """A call was submitted; it is pending until its first result is ready."""
        ref = returned[0] if isinstance(returned, list) and returned else returned
        if not isinstance(ref, ObjectRef):
            return
        actor_id = method.handle._actor_id_bytes
        with self._lock:
            self._open.setdefault(actor_id, set()).add(ref._id)

        def answered(id: bytes, keep: ObjectRef[Any] = ref) -> None:  # kept, or nobody would learn of the result
            self._answered(actor_id, id)

        if self._values.when_ready([ref._id], answered):
            self._answered(actor_id, ref._id)

    def _number(self, actor_id: bytes) -> int:
        with self._lock:
            return len(self._open.get(actor_id, ()))

    def _answered(self, actor_id: bytes, id: bytes) -> None:
        with self._lock:
            ids = self._open.get(actor_id, set())
            ids.discard(id)
            if not ids:
                self._open.pop(actor_id, None)

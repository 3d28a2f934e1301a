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


class PendingCalls:
    """Counts, for the actors that have a limit."""

    def __init__(self, values: _Values) -> None:
        self._values = values
        self._counts: dict[bytes, int] = {}
        self._lock = threading.Lock()

    def check(self, method: ActorMethod) -> None:
        """Raises PendingCallsLimitExceeded if the actor has reached its limit."""
        limit, handle = method._spec.max_pending, method.handle
        pending = self._counts.get(handle._actor_id_bytes, 0)
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
        self._change(actor_id, 1)

        def answered(id: bytes, keep: ObjectRef[Any] = ref) -> None:  # kept, or nobody would learn of the result
            self._change(actor_id, -1)

        if self._values.when_ready([ref._id], answered):
            self._change(actor_id, -1)

    def _change(self, actor_id: bytes, by: int) -> None:
        with self._lock:
            count = self._counts.get(actor_id, 0) + by
            if count > 0:
                self._counts[actor_id] = count
            else:
                self._counts.pop(actor_id, None)

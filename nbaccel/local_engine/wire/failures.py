"""Errors as values: errors of user code (pickled where they were raised) and errors of the engine itself.

The head never unpickles, so its own errors are a small record that the reader turns into the right class.
"""

from __future__ import annotations

from typing import Any

import msgspec

from nbaccel import exceptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.wire import codec

ENDED_ITSELF = "it ended itself: exit_actor() was called"


class SystemFailure(msgspec.Struct, array_like=True):
    """An error that the engine reports: the name of its class and its arguments."""

    kind: str
    message: str
    actor_id: str | None = None
    task_id: str | None = None
    pid: int | None = None
    exit_code: int | None = None
    signal_number: int | None = None
    cause: bytes | None = None  # a pickled RayTaskError: what the actor's constructor raised


def failed(kind: str, message: str, **facts: Any) -> wire.Value:
    """The value of an object whose task failed without raising."""
    return wire.Value(wire.FAILED, wire.pack(SystemFailure(kind, message, **facts)))


def is_end_of_actor(value: wire.Value) -> bool:
    """Whether a value says that its call failed because the actor's process ended."""
    if value.status != wire.FAILED or value.data is None:
        return False
    kind: Any = getattr(exceptions, msgspec.msgpack.decode(value.data, type=SystemFailure).kind, None)
    return kind is not None and issubclass(kind, exceptions.RayActorError)


def error_of(status: int, data: Any) -> Any:
    """The exception (a BaseException) to raise for a value that is an error."""
    if status == wire.RAISED:
        error = codec.load(data)
        return error.as_instanceof_cause() if isinstance(error, exceptions.RayTaskError) else error
    return _system_error(msgspec.msgpack.decode(data, type=SystemFailure))


def _system_error(failure: SystemFailure) -> Any:
    kind: Any = getattr(exceptions, failure.kind, exceptions.RaySystemError)
    if issubclass(kind, exceptions.RayActorError):
        cause = codec.load(failure.cause) if failure.cause else None
        message = failure.message
        if cause is not None:
            message = f"The actor died because of an error raised in its creation task, {cause}"
        return kind(message, actor_id=failure.actor_id, actor_init_failed=cause is not None, cause=cause)
    if kind is exceptions.WorkerCrashedError:
        return kind(failure.message, pid=failure.pid, exit_code=failure.exit_code, signal_number=failure.signal_number)
    if kind is exceptions.TaskCancelledError:
        return kind(failure.message, task_id=failure.task_id)
    return kind(failure.message)

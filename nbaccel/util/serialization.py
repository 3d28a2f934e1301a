"""Defines how a class travels between processes if pickle alone cannot do it."""

import copyreg
from collections.abc import Callable
from typing import Any


class _Reducer:
    """Pickles an instance as the result of `serializer`."""

    def __init__(self, serializer: Callable[[Any], Any], deserializer: Callable[[Any], Any]) -> None:
        self._serializer = serializer
        self._deserializer = deserializer

    def __call__(self, instance: Any) -> tuple[Any, ...]:
        return self._deserializer, (self._serializer(instance),)


def register_serializer(cls: type, *, serializer: Callable[[Any], Any], deserializer: Callable[[Any], Any]) -> None:
    """Sends instances of `cls` from this process as `serializer(instance)`; the receiver applies `deserializer`.

    It is set for this process only: a task that returns such instances must call it too.

    >>> class Handle:
    ...     def __init__(self, path): self.path = path
    >>> register_serializer(Handle, serializer=lambda handle: handle.path, deserializer=Handle)
    >>> nbaccel.get(nbaccel.put(Handle("a.txt"))).path
    'a.txt'
    """
    copyreg.pickle(cls, _Reducer(serializer, deserializer))


def deregister_serializer(cls: type) -> None:
    """Undoes `register_serializer`; nothing happens for a class that was never registered."""
    if isinstance(copyreg.dispatch_table.get(cls), _Reducer):
        del copyreg.dispatch_table[cls]

"""What must be told when an object ends, whatever happens just then.

A KeyboardInterrupt may come at the first step of a finaliser that is written in Python. Python then drops it with all
that the finaliser would have done, and a ref, an actor or a block of memory would be held for ever. Into a callable of
C no interrupt can come.
"""

from __future__ import annotations

from collections.abc import Callable


class SafeFinalizer:
    """An object that keeps in the slot `__del__` what Python is to call at its end; nothing where the slot is empty."""

    __slots__ = ("__del__",)
    __del__: Callable[[], object]  # a functools.partial of a builtin method, so that nothing of it is Python code

"""A mistake in a magic's line, and what the cluster refuses, is one line of text; a traceback means a bug of ours."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from IPython.core.error import UsageError

from nbaccel.exceptions import RayError
from nbaccel.notebook.arguments import TypingMistake

T = TypeVar("T")
_REFUSALS = (TypingMistake, RayError, ValueError, ConnectionError, RuntimeError, OSError)


def said_in_one_line(magic: Callable[..., T]) -> Callable[..., T]:
    """Shows what went wrong as IPython shows a typing error: one line, no traceback."""

    @functools.wraps(magic)
    def run(*given: Any) -> T:
        try:
            return magic(*given)
        except _REFUSALS as error:
            raise UsageError(str(error)) from None

    return run

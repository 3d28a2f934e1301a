"""Arguments as users give them: numbers of numpy become Python's, without importing numpy."""

from __future__ import annotations

import inspect
import numbers
from typing import Any


def plain_number(value: Any) -> Any:
    """The int or float of a number such as numpy's; anything else, also a bool, as it is."""
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else value


def known_arguments(function: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Those of the given arguments that the function or class has."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in given.items() if name in names}

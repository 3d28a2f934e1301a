"""Numbers as users give them: those of numpy become Python's, without importing numpy."""

from __future__ import annotations

import numbers
from typing import Any


def plain_number(value: Any) -> Any:
    """The int or float of a number such as numpy's; anything else, also a bool, as it is."""
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else value

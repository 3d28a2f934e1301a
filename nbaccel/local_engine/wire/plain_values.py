"""What users give that is nearly a word or a number, as the word or number that it is on the wire."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """Of numpy's kind, or of a subclass of str. Raises TypeError for anything else."""
    if isinstance(value, str):
        return str.__str__(value)
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be sent to the head")

"""Label conditions of a node: `H100`, `!H100`, `in(a, b)`, `!in(a, b)`, `exists()` and `!exists()`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def matches(labels: Mapping[str, str], conditions: Iterable[tuple[str, str]]) -> bool:
    """Whether a node with these labels meets every (key, condition)."""
    return all(_holds(labels.get(key), condition) for key, condition in conditions)


def _holds(value: str | None, condition: str) -> bool:
    # As in Ray, a node that lacks the label meets every negated condition.
    if condition.startswith("!"):
        return not _holds(value, condition[1:])
    if condition == "exists()":
        return value is not None
    if condition.startswith("in(") and condition.endswith(")"):
        return value in [each.strip() for each in condition[3:-1].split(",")]
    return value == condition

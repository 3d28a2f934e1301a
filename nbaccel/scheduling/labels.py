"""Label conditions of a node: `H100`, `!H100`, `in(a, b)`, `!in(a, b)`, `exists()` and `!exists()`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

TYPE_LABEL = "ray.io/accelerator-type"


def matches(labels: Mapping[str, str], conditions: Iterable[tuple[str, str]], types: Iterable[str] = ()) -> bool:
    """Whether a node with these labels meets every (key, condition).

    A label has one value, and a node may have devices of several `types`: any of them will do for the type's label.
    """
    return all(
        holds(labels.get(key), condition) or (key == TYPE_LABEL and any(holds(each, condition) for each in types))
        for key, condition in conditions
    )


def holds(value: str | None, condition: str) -> bool:
    """Whether one label's value meets one condition."""
    # As in Ray, a node that lacks the label meets every negated condition.
    if condition.startswith("!"):
        return not holds(value, condition[1:])
    if condition == "exists()":
        return value is not None
    if condition.startswith("in(") and condition.endswith(")"):
        return value in [each.strip() for each in condition[3:-1].split(",")]
    return value == condition

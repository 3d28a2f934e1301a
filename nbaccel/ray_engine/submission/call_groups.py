"""The concurrency groups of an actor, known to all of its handles: Ray ends the actor's process for a wrong name.

Ray's handles carry the signatures of the methods wherever they go, so a method that nobody calls has the names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbaccel.handles import option_checks

DECLARED = "__nbaccel_groups__"
_MARK = "__ray_concurrency_group__"


def declare(cls: type, groups: Iterable[str]) -> None:
    """Before Ray looks at the class. Ray also fails where a method is marked with a group that is not there."""
    known = tuple(groups)

    def declared(self: object, names: tuple[str, ...] = known) -> None: ...

    setattr(cls, DECLARED, declared)
    for method in vars(cls).values():
        if getattr(method, _MARK, None) not in (None, *known):
            delattr(method, _MARK)


def check(inner: Any, class_name: str, group: str) -> None:
    """Raises ValueError where this actor has no such group. Of an actor that Ray's own API made, nothing is known."""
    signature = getattr(inner, "_ray_method_signatures", {}).get(DECLARED)
    if signature is not None:
        option_checks.group_of_calls(group, class_name, signature[0].default)

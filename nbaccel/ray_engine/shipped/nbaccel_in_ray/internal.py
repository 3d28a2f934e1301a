"""The mark of actors that nbaccel makes for itself: Ray's table keeps nothing of an actor but its class's names.

The mark is in the qualified name, which no class statement can give: a user's class of the same name has none.
"""

from __future__ import annotations

MARK = "nbaccel's own."


def qualified(name: str) -> str:
    """The qualified name of an internal class; what follows the last dot stays the name of the class."""
    return MARK + name.rpartition(".")[2]


def is_marked(class_name: str) -> bool:
    """Whether Ray's name of an actor's class is that of an internal one."""
    return class_name.startswith(MARK)


def marked(cls: type) -> type:
    """An internal class, to be made an actor."""
    return type(cls.__name__, (cls,), {"__module__": cls.__module__, "__qualname__": qualified(cls.__name__)})

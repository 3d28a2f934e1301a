"""What cloudpickle leaves out of classes that travel by value. Workers of Ray have this file by a link: nodes may lack
nbaccel.
"""

from __future__ import annotations

import sys
from operator import attrgetter
from types import GetSetDescriptorType, MemberDescriptorType, resolve_bases
from typing import Any


def with_slots(arguments: tuple[Any, ...], kind: type) -> tuple[Any, ...]:
    """What a class is made anew from, with its slots: cloudpickle 3.1.3 drops them, and its objects would be others."""
    if "__slots__" not in kind.__dict__:
        return arguments
    constructor, name, bases, keywords, *others = arguments
    if not all(issubclass(constructor, type(base)) for base in resolve_bases(bases)):
        return arguments  # what stands for a base, such as NamedTuple, makes the class and its slots
    slots = [each for each, member in kind.__dict__.items() if _is_slot(each, member)]
    return constructor, name, bases, {**keywords, "__slots__": tuple("".join(each) for each in slots)}, *others


def _is_slot(name: str, member: Any) -> bool:
    is_made_by_slots = name in ("__dict__", "__weakref__") and isinstance(member, GetSetDescriptorType)
    return isinstance(member, MemberDescriptorType) or is_made_by_slots


def by_name(function: Any) -> Any:
    """A class method of an importable class, such as the one of Generic that a generic NamedTuple has; None of others.

    cloudpickle 3.1.3 finds only the bound method by this name, and would send the function with its caches.
    """
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    if getattr(found, "__func__", None) is not function or not isinstance(found.__self__, type):
        return None  # an actor class binds plain methods to itself
    return attrgetter(f"{name}.__func__"), (found.__self__,)

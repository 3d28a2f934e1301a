"""Errors of Ray's pickler, with the name of the part that cannot be pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import ray
from ray import cloudpickle
from ray.util.client import ray as client

from nbaccel.handles import unpicklable
from nbaccel.ray_engine.border.internals import internals

_RAYS_WORDS = "Could not serialize"  # with these it replaces a TypeError


def can_pickle(value: Any) -> bool:
    try:
        if client.is_connected():
            cloudpickle.dumps(value)
        else:
            internals.serialization_context().serialize(value)
    except Exception:  # a user's __reduce__ may raise anything; the error is the answer
        return False
    return True


def name_culprit(error: Exception, name: str, code: Any, plain: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Raise the error of a submission again if the code or one of its arguments cannot be pickled, naming the part."""
    if isinstance(error, ray.exceptions.RayError):
        return
    cause = _cause(error)
    unpicklable.refuse_argument(name, plain, named, cause, can_pickle)
    if code is not None and not can_pickle(code):
        unpicklable.refuse_code(name, code, cause, can_pickle)


def name_culprit_of_put(error: Exception, value: Any) -> None:
    """The same for a value that is put into the store."""
    if not can_pickle(value):
        unpicklable.refuse("the value", value, _cause(error), can_pickle)


def refuse_returned(name: str, value: Any, error: Exception) -> NoReturn:
    """The same for what a task or a call returns, in its worker."""
    unpicklable.refuse(f"the return value of {name}", value, error, can_pickle, unpicklable.ADVICE_TO_RETURN)


def _cause(error: Exception) -> Exception:
    cause = error.__cause__
    return cause if isinstance(cause, Exception) and str(error).startswith(_RAYS_WORDS) else error

"""Names for trainables, in this process: `register_trainable("mine", f)`, then `tune.run("mine")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbaccel import elsewhere
from nbaccel.tune.error import TuneError

_trainables: dict[str, Any] = {}


def register_trainable(name: str, trainable: Callable[..., Any] | type, warn: bool = True) -> None:
    """Give a trainable a name, which tune.run and Tuner take in its place. A later one replaces the former.

    >>> tune.register_trainable("doubled", lambda config: {"loss": 2 * config["x"]})
    >>> tune.run("doubled", config={"x": 2}).trials[0].last_result["loss"]
    4
    """
    if not isinstance(name, str) or not callable(trainable):
        raise TypeError(f"register_trainable takes a name and a function or a class, not {name!r} and {trainable!r}.")
    _trainables[name] = trainable


def get_trainable_cls(trainable_name: str) -> Any:
    """The trainable of this name. Raises TuneError if there is none."""
    if trainable_name not in _trainables:
        known = f" Registered are: {', '.join(sorted(_trainables))}." if _trainables else ""
        raise TuneError(
            f"Unknown trainable: {trainable_name}. tune.register_trainable(name, trainable) gives a name to yours; "
            f"RLlib, whose algorithms have names, is not here.{known}"
        )
    return _trainables[trainable_name]


def is_function_trainable(trainable: Any) -> bool:
    """Whether a trainable, or that of a name, is a function."""
    found = get_trainable_cls(trainable) if isinstance(trainable, str) else trainable
    return callable(found) and not isinstance(found, type)


register_env = elsewhere.refusing(__name__, "register_env", "RLlib is not here, and trainables need no environments.")

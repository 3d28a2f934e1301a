"""The training function: its allowed signatures, its call, and its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from nbaccel.handles.remote import RemoteFunction

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def check(function: Any) -> None:
    """Raises ValueError if the function cannot be called without arguments or with the config, as Ray Train does."""
    if not callable(function):
        raise ValueError(f"train_loop_per_worker must be a function, not {function!r}.")
    refuse_what_a_call_does_not_run(function, "train_loop_per_worker")
    if inspect.isgeneratorfunction(function):
        raise ValueError(
            f"train_loop_per_worker must be a plain function, but {name_of(function)} has a yield, and a call of it "
            "runs nothing. Call train.report(...) instead of yield."
        )
    wanted = required(function)
    if len(wanted) > 1:
        raise ValueError(
            f"train_loop_per_worker should take in 0 or 1 required arguments, but {name_of(function)} has "
            f"{len(wanted)}: {', '.join(wanted)}. Put them into train_loop_config, one dict."
        )
    if by_name := required_by_name(function):
        raise ValueError(
            f"train_loop_per_worker takes one dict alone, but {name_of(function)} has a required argument that is "
            f"given by name: {', '.join(by_name)}. Put it into train_loop_config."
        )


def refuse_what_a_call_does_not_run(function: Any, argument: str) -> None:
    """Raises ValueError for a coroutine function and for a remote function; `argument` is what it was given as."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise ValueError(
            f"{argument} must be a plain function, but {name_of(function)} is an async one, and a call of it runs "
            "nothing. Give a function that calls asyncio.run(...)."
        )
    if isinstance(function, RemoteFunction):
        raise ValueError(
            f"{argument} must be a plain function: give {name_of(function)} without @remote, because the processes "
            "that run it are made for you."
        )


def call(function: Callable[..., Any], config: Any) -> Any:
    """Call it with the config ({} for None) if it has a required parameter, as Ray Train does."""
    try:
        return function({} if config is None else config) if required(function) else function()
    except SystemExit as exit:
        raise exited("training function", exit) from exit


def exited(what: str, exit: SystemExit) -> RuntimeError:
    """The error of a function that has ended itself as a script does: its process, or the notebook's, must not end."""
    return RuntimeError(
        f"The {what} ended itself with SystemExit({exit.code!r}), which counts as a failure. To end it well, write "
        "return instead of sys.exit() or exit()."
    )


def required(function: Callable[..., Any]) -> list[str]:
    """The names of the arguments that a call has to give by position."""
    return _without_default(function, _POSITIONAL)


def required_by_name(function: Callable[..., Any]) -> list[str]:
    """The names of the arguments that a call has to give by name."""
    return _without_default(function, (inspect.Parameter.KEYWORD_ONLY,))


def _without_default(function: Callable[..., Any], kinds: tuple[Any, ...]) -> list[str]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C
        return []
    found = list(signature.parameters.values())
    return [each.name for each in found if each.default is each.empty and each.kind in kinds]


def name_of(function: Any) -> str:
    """The function's name, in a form that a folder may have."""
    name = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", "train")
    return "".join(each if each.isalnum() or each in "-_" else "_" for each in str(name)[:50]).strip("_") or "train"


# ---- marks the errors of a user's callback, stopper or search, so that none is taken for one of the disk
#
# ConnectionError and FileNotFoundError are OSErrors, as "No space left on device" is.


_MARK = "_nbaccel_users_code"


class UsersCode:
    """The code in a block `with UsersCode():` is the user's: what it raises is marked, and raised on.

    It is no generator: the frame of one would keep the error, and what its traceback holds, for longer.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            setattr(error, _MARK, True)


def is_of_users_code(error: BaseException) -> bool:
    """Whether an error comes from a user's code."""
    return getattr(error, _MARK, False) is True

"""The training function: its allowed signatures, its call, and its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from nbaccel.handles.remote import RemoteFunction

_NOT_RUN_BY_A_CALL = (
    (inspect.iscoroutinefunction, "a coroutine function (async def)"),
    (inspect.isgeneratorfunction, "a generator (it has a yield)"),
    (inspect.isasyncgenfunction, "an asynchronous generator"),
)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def check(function: Any) -> None:
    """Raises ValueError if the function cannot be called without arguments or with the config, as Ray Train does."""
    if not callable(function):
        raise ValueError(f"train_loop_per_worker must be a function, not {function!r}.")
    for is_of_kind, kind in _NOT_RUN_BY_A_CALL:
        if is_of_kind(function):
            raise ValueError(
                f"train_loop_per_worker must be a plain function, but {name_of(function)} is {kind}: a call of it only "
                "makes an object and runs nothing. Call it in a function of its own, such as def train_func(): "
                "asyncio.run(main())."
            )
    if isinstance(function, RemoteFunction):
        raise ValueError(
            f"train_loop_per_worker must be a plain function: give {name_of(function)} without @remote. The trainer "
            "makes the workers."
        )
    required = _required(function)
    if len(required) > 1:
        raise ValueError(
            f"train_loop_per_worker should take in 0 or 1 required arguments, but {name_of(function)} has "
            f"{len(required)}: {', '.join(required)}. Put them into train_loop_config, one dict."
        )


def call(function: Callable[..., Any], config: Any) -> Any:
    """Call it with the config ({} for None) if it has a required parameter, as Ray Train does."""
    return function({} if config is None else config) if _required(function) else function()


def _required(function: Callable[..., Any]) -> list[str]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C
        return []
    found = list(signature.parameters.values())
    return [each.name for each in found if each.default is each.empty and each.kind in _POSITIONAL]


def name_of(function: Any) -> str:
    """The function's name, in a form that a folder may have."""
    name = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", "train")
    return "".join(each if each.isalnum() or each in "-_" else "_" for each in str(name)).strip("_") or "train"

"""Checks what is to be tuned."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from nbaccel.train import loops


def checked(trainable: Any) -> Any:
    """The trainable, a function of the config.

    Raises ValueError or NotImplementedError, with what to give instead.
    """
    if isinstance(trainable, str):
        raise NotImplementedError(
            f"The trainable {trainable!r} is a name, and RLlib, whose algorithms have names, is not here: give a "
            "function of the config."
        )
    if inspect.isclass(trainable):
        raise NotImplementedError(
            f"The trainable {trainable.__name__} is a class. Give a function of the config: it does what setup() and "
            "step() do, and calls tune.report(metrics, checkpoint=...) after each step."
        )
    if not callable(trainable):
        raise ValueError(f"The trainable must be a function of the config or a trainer, not {trainable!r}.")
    loops.refuse_what_a_call_does_not_run(trainable, "The trainable")
    wanted = loops.required(trainable)
    if len(wanted) > 1:
        raise ValueError(
            f"The trainable takes the config alone, but {loops.name_of(trainable)} has {len(wanted)} required "
            f"arguments: {', '.join(wanted)}. Give the others once, for all trials: tune.with_parameters(trainable, "
            f"{wanted[1]}=...)."
        )
    return trainable


def takes_config(function: Callable[..., Any]) -> bool:
    """Whether the function takes the config; a function without parameters is called without."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C
        return True
    kinds = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    )
    return any(each.kind in kinds for each in parameters)

"""What is to be tuned: checks it, and binds to it what each of its trials is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import nbaccel
from nbaccel.handles.option_checks import did_you_mean
from nbaccel.train import loops


class BoundTrainable:
    """A function with the resources of its trials, or with parameters that are stored once; made by `bound`."""

    def __init__(self, function: Any, resources: Any, parameters: Mapping[str, Any]) -> None:
        self.function = function
        self.resources = resources
        self.parameters = dict(parameters)
        self.__name__ = name_of(function)

    def __call__(self, config: Any) -> Any:
        values = {name: nbaccel.get(ref) for name, ref in self.parameters.items()}
        return self.function(config, **values) if takes_config(self.function) else self.function(**values)


def bound(trainable: Any, resources: Any, parameters: Mapping[str, Any]) -> BoundTrainable:
    """The trainable with these resources, and with these parameters beside those that it has."""
    if isinstance(trainable, BoundTrainable):
        return BoundTrainable(trainable.function, resources, {**trainable.parameters, **parameters})
    return BoundTrainable(trainable, resources, parameters)


def name_of(function: Any) -> str:
    """The trainable's name, as a folder may have it."""
    name = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", None)
    text = str(name or type(function).__name__)
    return "".join(each if each.isalnum() or each in "-_" else "_" for each in text[:50]).strip("_") or "trainable"


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
    is_bound = isinstance(trainable, BoundTrainable)
    function, given = (trainable.function, trainable.parameters) if is_bound else (trainable, {})
    loops.refuse_what_a_call_does_not_run(function, "The trainable")
    _refuse_arguments_that_are_left(function, given)
    _refuse_arguments_that_it_does_not_take(function, given)
    return trainable


def _refuse_arguments_that_are_left(function: Any, given: Mapping[str, Any]) -> None:
    by_place, by_name = loops.required(function), loops.required_by_name(function)
    left = [name for name in (*by_place[1:], *by_name) if name not in given]
    if not left:
        return
    wanted = [name for name in (*by_place, *by_name) if name not in given]
    raise ValueError(
        f"The trainable takes the config alone, but {name_of(function)} has {len(wanted)} required "
        f"argument{'s' if len(wanted) > 1 else ''}: {', '.join(wanted)}. Give the others once, for all trials: "
        f"tune.with_parameters(trainable, {left[0]}=...)."
    )


def _refuse_arguments_that_it_does_not_take(function: Any, given: Mapping[str, Any]) -> None:
    if not given:
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C
        return
    known = list(signature.parameters)
    if unknown := [name for name in given if name not in known and not _takes_all_names(signature)]:
        raise ValueError(
            f"tune.with_parameters(trainable, {unknown[0]}=...): {name_of(function)} has no argument {unknown[0]!r}."
            f"{did_you_mean(unknown[0], known)}"
        )
    if takes_config(function) and known[0] in given:
        raise ValueError(
            f"tune.with_parameters(trainable, {known[0]}=...): the first argument of {name_of(function)} is the "
            f"config. Let it take two: config, {known[0]}."
        )


def _takes_all_names(signature: inspect.Signature) -> bool:
    return any(each.kind is inspect.Parameter.VAR_KEYWORD for each in signature.parameters.values())


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

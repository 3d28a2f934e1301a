"""What is to be tuned: checks it, and binds to it what each of its trials is given."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Mapping
from typing import Any

import cloudpickle

import nbaccel
from nbaccel.handles.option_checks import did_you_mean
from nbaccel.train import loops
from nbaccel.tune import registry
from nbaccel.tune.trainable import Trainable
from nbaccel.util.check_serialize import inspect_serializability


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
    """The trainable, a function of the config or a class; of a name, what was registered.

    Raises ValueError, or TuneError for an unknown name, with what to give instead.
    """
    if isinstance(trainable, str):
        return checked(registry.get_trainable_cls(trainable))
    is_bound = isinstance(trainable, BoundTrainable)
    function, given = (trainable.function, trainable.parameters) if is_bound else (trainable, {})
    if inspect.isclass(function):
        _check_class(function, given)
        return trainable
    if not callable(trainable):
        raise ValueError(f"The trainable must be a function of the config or a trainer, not {trainable!r}.")
    loops.refuse_what_a_call_does_not_run(function, "The trainable")
    _refuse_arguments_that_are_left(function, given)
    _refuse_arguments_that_it_does_not_take(function, given)
    return trainable


def refuse_what_cannot_be_sent(trainable: Any) -> None:
    """Raises what pickling raises, with the part that cannot be pickled, before an experiment has begun."""
    function = trainable.function if isinstance(trainable, BoundTrainable) else trainable
    if nbaccel.is_initialized():
        nbaccel.put((function,))
        return
    try:
        cloudpickle.dumps(function)
    except Exception as error:
        fine, parts = inspect_serializability(function, print_file=io.StringIO())
        names = ", ".join(sorted(each.name for each in parts))
        if fine or not names:
            raise
        raise TypeError(
            f"The trainable {name_of(function)} cannot be sent to its trials: {names} cannot be pickled ({error}). "
            "Make it in the trainable, or give it by tune.with_parameters."
        ) from error


def is_class(trainable: Any) -> bool:
    """Whether this is a class of trainables, also with resources or parameters."""
    return inspect.isclass(trainable.function if isinstance(trainable, BoundTrainable) else trainable)


def class_of(trainable: Any) -> Any:
    """The class, whose setup() gets the parameters that were bound to it."""
    if not isinstance(trainable, BoundTrainable) or not trainable.parameters:
        return trainable.function if isinstance(trainable, BoundTrainable) else trainable
    cls = trainable.function
    values = {name: nbaccel.get(ref) for name, ref in trainable.parameters.items()}

    def setup(self: Trainable, config: dict[str, Any]) -> None:
        cls.setup(self, config, **values)

    return type(cls.__name__, (cls,), {"setup": setup, "__module__": cls.__module__, "__qualname__": cls.__qualname__})


def _check_class(cls: type, given: Mapping[str, Any]) -> None:
    if not issubclass(cls, Trainable):
        module = "ray.tune" if any(each.__module__.startswith("ray.tune") for each in cls.__mro__) else ""
        raise ValueError(
            f"The trainable {cls.__name__} is a class{' of Ray Tune' if module else ''}. A class of trainables is "
            "derived from nbaccel.tune.Trainable, with setup() and step()."
        )
    wanted = [name for name in loops.required(cls.setup)[2:] if name not in given]
    if wanted:
        raise ValueError(
            f"{cls.__name__}.setup has the arguments {', '.join(wanted)} beside the config: give them once, for all "
            f"trials: tune.with_parameters({cls.__name__}, {wanted[0]}=...)."
        )
    if given:
        _refuse_unknown_names(cls.setup, given, f"{cls.__name__}.setup")


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
    known = _refuse_unknown_names(function, given, name_of(function))
    if known and takes_config(function) and known[0] in given:
        raise ValueError(
            f"tune.with_parameters(trainable, {known[0]}=...): the first argument of {name_of(function)} is the "
            f"config. Let it take two: config, {known[0]}."
        )


def _refuse_unknown_names(function: Any, given: Mapping[str, Any], name: str) -> list[str]:
    """The names of the function's arguments; [] if nobody knows them."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C
        return []
    known = list(signature.parameters)
    if unknown := [each for each in given if each not in known and not _takes_all_names(signature)]:
        raise ValueError(
            f"tune.with_parameters(trainable, {unknown[0]}=...): {name} has no argument {unknown[0]!r}."
            f"{did_you_mean(unknown[0], known)}"
        )
    return known


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

"""The keywords that type checkers know are those that a running program accepts."""

from __future__ import annotations

import inspect
import typing

import pytest

from nbaccel.handles import keywords
from nbaccel.handles.options import OPTIONS, PASSED_ON, Where
from nbaccel.train.data_parallel_trainer import DataParallelTrainer, TrainerKeywords


def _accepted(*places: Where) -> set[str]:
    """The options that are legal in all of these places."""
    return set.intersection(*({name for name, where, _ in OPTIONS if place in where} for place in places))


RETURNS = {"num_returns"}  # the signatures name it, because it decides what a call gives


@pytest.mark.parametrize(
    ("kind", "accepted"),
    [
        (keywords.FallbackChoice, _accepted(Where.CHOICE)),
        (keywords.RemoteKeywords, _accepted(Where.TASK, Where.ACTOR)),
        (keywords.FunctionKeywords, _accepted(Where.TASK) - RETURNS),
        (keywords.TaskKeywords, _accepted(Where.TASK_OPTIONS) - RETURNS),
        (keywords.ClassKeywords, _accepted(Where.ACTOR)),
        (keywords.ActorKeywords, _accepted(Where.ACTOR_OPTIONS)),
        (keywords.MethodKeywords, _accepted(Where.METHOD) - RETURNS),
        (keywords.CallKeywords, _accepted(Where.METHOD_OPTIONS) - RETURNS),
        (keywords.InitKeywords, (_accepted(Where.INIT) - {"address"}) | {*PASSED_ON, "local_mode"}),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_the_typed_keywords_are_the_accepted_ones(kind: type, accepted: set[str]) -> None:
    assert set(typing.get_type_hints(kind)) == accepted


def test_the_keywords_that_trainers_hand_on_are_those_of_their_base() -> None:
    named = {"self", "train_loop_per_worker", "backend_config"}
    assert (
        TrainerKeywords.__annotations__.keys()
        == inspect.signature(DataParallelTrainer.__init__).parameters.keys() - named
    )


def test_the_values_that_checkers_offer_are_accepted() -> None:
    """Every Literal of a typed keyword passes the runtime check of that option."""
    places = {
        keywords.FunctionKeywords: Where.TASK,
        keywords.ClassKeywords: Where.ACTOR,
        keywords.MethodKeywords: Where.METHOD,
        keywords.InitKeywords: Where.INIT,
    }
    for kind, place in places.items():
        checks = {name: check for name, where, check in OPTIONS if place in where}
        for name, hint in typing.get_type_hints(kind).items():
            for value in _literals(hint):
                if name in checks:
                    checks[name](name, value)


def _literals(hint: object) -> list[object]:
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    parts = typing.get_args(hint)
    found = [value for part in parts for value in _literals(part)]
    return [*found, None] if type(None) in parts else found

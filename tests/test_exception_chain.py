"""What an exception was raised from travels with it, link by link, and a bad link costs nobody else."""

from __future__ import annotations

import copy
import copyreg
import pickle
import re
from collections.abc import Iterator
from typing import Any

import pytest

from nbaccel.exceptions import RayTaskError, UnserializableException
from nbaccel.local_engine.wire import pickling
from tests import exception_reducers


class NotWithMe(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("not with me")


def refuses(*args: Any) -> Any:
    raise LookupError("not here either")


class NotHere(Exception):
    """Can be pickled, but not rebuilt."""

    def __reduce__(self) -> Any:
        return refuses, ()


class Mute(NotWithMe):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.fixture(autouse=True, params=["nothing registered", "a reducer for all exceptions"])
def _reducers(request: pytest.FixtureRequest) -> Iterator[None]:
    kept = dict(copyreg.dispatch_table)
    if request.param != "nothing registered":
        exception_reducers.register_for_all()
    yield
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(kept)


def travelled(error: BaseException) -> RayTaskError:
    """What `get` raises where a task has raised `error`."""
    made: RayTaskError = sent(RayTaskError("f", "the traceback", error)).as_instanceof_cause()
    return made


class OfTwo(OSError):
    """Pickle would call the constructor with the args, of which there is one."""

    def __init__(self, path: str, line: int) -> None:
        super().__init__(f"{path}:{line}")


class NewlyMade(Exception):
    def __reduce__(self) -> Any:
        return copyreg.__newobj__, (NewlyMade, *self.args)  # type: ignore[attr-defined]


def sent(value: Any) -> Any:
    """What arrives of a value."""
    return pickle.loads(b"".join(pickling.pickled(value).chunks))


def raised_from(error: BaseException, cause: BaseException | None) -> BaseException:
    try:
        raise error from cause
    except BaseException as caught:
        return caught


def chain_of(error: BaseException | None) -> list[str]:
    found = []
    while error is not None:
        found.append(f"{type(error).__name__}: {error.args[0]}")
        error = error.__cause__
    return found


def test_a_chain_of_causes_travels_as_exceptions() -> None:
    error = raised_from(ValueError("c"), raised_from(OSError(2, "b"), KeyError("a")))
    got = travelled(error)
    assert isinstance(got, ValueError)
    assert chain_of(got.__cause__) == chain_of(got.cause.__cause__) == ["FileNotFoundError: 2", "KeyError: a"]
    assert got.__cause__ is got.cause.__cause__, "one exception, not two that are alike"
    assert got.__suppress_context__


def test_what_was_being_handled_travels_too_and_stays_hidden_where_it_was() -> None:
    try:
        try:
            raise KeyError("a")
        except KeyError:
            raise ValueError("b")  # noqa: B904
    except ValueError as error:
        shown = travelled(error)
        hidden = travelled(raised_from(error, None))
    assert type(shown.__context__) is KeyError and shown.__cause__ is None and not shown.__suppress_context__
    assert type(hidden.__context__) is KeyError and hidden.__cause__ is None and hidden.__suppress_context__


def test_an_error_without_a_chain_has_none_afterwards() -> None:
    got = travelled(ValueError("alone"))
    assert got.__cause__ is None and got.__context__ is None and not got.__suppress_context__


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (NotWithMe("said"), r"NotWithMe: said \(the exception itself could not be pickled: TypeError: not with me\)"),
        (NotHere("said"), r"NotHere: said \(the exception itself could not be rebuilt: LookupError: not here either\)"),
        (Mute("said"), r"^Mute \(the exception itself could not be pickled"),
        (ValueError("x" * (2 << 20)), r"too large to travel: 2.1 MB"),
    ],
)
def test_a_bad_link_leaves_its_words_and_costs_no_other(bad: BaseException, words: str) -> None:
    got = travelled(raised_from(ValueError("last"), raised_from(bad, KeyError("first"))))
    assert isinstance(got, ValueError) and got.args == ("last",)
    assert isinstance(got.__cause__, UnserializableException)
    assert re.search(words, str(got.__cause__)) and type(got.__cause__.__cause__) is KeyError


def test_errors_that_were_raised_from_each_other_travel() -> None:
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    got = travelled(first)
    assert type(got.__cause__) is KeyError and got.__cause__.__cause__ is got.cause


def test_of_very_many_links_the_nearest_travel() -> None:
    error: BaseException = ValueError(0)
    for number in range(1, 2_000):
        error = raised_from(ValueError(number), error)
    assert chain_of(travelled(error))[:4] == [
        "RayTaskError(ValueError): 1999",
        "ValueError: 1998",
        "ValueError: 1997",
        "ValueError: 1996",
    ]


def test_the_parts_of_a_group_keep_their_causes() -> None:
    part = raised_from(ValueError("part"), KeyError("a"))
    inner = ExceptionGroup("inner", [part, TypeError("other")])
    got: Any = travelled(raised_from(ExceptionGroup("outer", [inner]), OSError("b")))
    assert type(got.__cause__) is OSError
    assert type(got.exceptions[0].exceptions[0].__cause__) is KeyError


def test_an_error_of_a_task_that_was_the_cause_has_its_own_chain() -> None:
    inner = travelled(raised_from(ValueError("inner"), KeyError("a")))
    got = travelled(raised_from(RuntimeError("outer"), inner))
    cause = got.__cause__
    assert isinstance(cause, RayTaskError) and isinstance(cause, ValueError)
    assert type(cause.__cause__) is KeyError and cause.cause is not None and cause.cause.__cause__ is cause.__cause__


def test_an_error_that_passes_through_a_task_keeps_its_chain_and_what_was_handled_there() -> None:
    inner = travelled(raised_from(ValueError("inner"), KeyError("a")))
    try:
        try:
            raise OSError("handled")
        except OSError:
            raise inner  # noqa: B904
    except ValueError as error:
        got = travelled(error)
    assert type(got.cause) is ValueError and chain_of(got.cause.__cause__) == ["KeyError: a"]
    assert type(got.__context__) is OSError and got.__cause__ is got.cause.__cause__


def test_a_copy_has_the_same_causes() -> None:
    got = travelled(raised_from(ValueError("b"), KeyError("a")))
    again = copy.copy(got)
    assert again.__cause__ is got.__cause__ and again.cause is got.cause and got.cause.__cause__ is got.__cause__
    assert type(copy.deepcopy(got).__cause__) is KeyError


def test_a_class_that_means_something_else_by_cause_travels() -> None:
    got = travelled(raised_from(Own("b"), KeyError("a")))
    assert type(BaseException.__dict__["__cause__"].__get__(got)) is KeyError


class Own(Exception):
    @property
    def __cause__(self) -> Any:
        raise RuntimeError("asked")

    @__cause__.setter
    def __cause__(self, value: Any) -> None:
        raise RuntimeError("set")


def test_what_only_a_reducer_of_all_exceptions_can_rebuild_arrives_as_itself() -> None:
    exception_reducers.register_for_all()
    error = OfTwo("book.ipynb", 3)
    error.__cause__ = KeyError("first")
    got = travelled(error)
    assert isinstance(got, OfTwo) and got.args == ("book.ipynb:3",) and chain_of(got.__cause__) == ["KeyError: first"]


def test_a_class_that_says_how_it_is_newly_made_arrives_as_itself() -> None:
    got = travelled(raised_from(NewlyMade("said"), KeyError("first")))
    assert isinstance(got, NewlyMade) and got.args == ("said",) and chain_of(got.__cause__) == ["KeyError: first"]

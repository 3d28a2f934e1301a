"""What a user's exception was raised from, or raised beside, comes with it as exceptions, wherever the code runs."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nbaccel
from nbaccel import exceptions, tune
from nbaccel.train import RunConfig, ScalingConfig, TrainingFailedError
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from tests import exception_reducers


class Quota(Exception):
    def __init__(self, used: int, allowed: int) -> None:
        super().__init__(used, allowed)
        self.used, self.allowed = used, allowed


class Stubborn(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("not with me")


def fail(*_: Any) -> None:
    """Raises a ValueError from a Quota from a KeyError, while a LookupError is handled."""
    try:
        raise LookupError("handled")
    except LookupError:
        try:
            try:
                {}["key"]
            except KeyError as error:
                raise Quota(5, allowed=3) from error
        except Quota as error:
            raise ValueError("bad settings") from error


def assert_chain(error: BaseException | None) -> None:
    assert isinstance(error, ValueError)
    quota = error.__cause__
    assert isinstance(quota, Quota) and (quota.used, quota.allowed) == (5, 3)
    assert type(quota.__cause__) is KeyError and quota.__cause__.args == ("key",)
    assert error.__suppress_context__ and error.__context__ is quota
    assert type(quota.__cause__.__context__) is LookupError


@nbaccel.remote
class Actor:
    def __init__(self, *, fails: bool = False) -> None:
        if fails:
            fail()

    def call(self) -> None:
        fail()

    async def call_in_loop(self) -> None:
        fail()


@nbaccel.remote
def items() -> Any:
    yield 1
    fail()


def of_a_task(nb: ModuleType) -> Any:
    return nb.remote(fail).remote()


def of_an_actors_call(nb: ModuleType) -> Any:
    return Actor.remote().call.remote()


def of_an_asyncio_actors_call(nb: ModuleType) -> Any:
    return Actor.remote().call_in_loop.remote()


def of_a_stream(nb: ModuleType) -> Any:
    stream = items.remote()
    next(stream)
    return next(stream)


@pytest.mark.parametrize("made", [of_a_task, of_an_actors_call, of_an_asyncio_actors_call, of_a_stream])
def test_causes_come_with_the_error(nb: ModuleType, made: Any) -> None:
    with pytest.raises(ValueError) as caught:
        nb.get(made(nb))
    assert_chain(caught.value)
    assert isinstance(caught.value, exceptions.RayTaskError)
    assert_chain(caught.value.cause)
    told = str(caught.value)
    assert [told.count(words) for words in ("KeyError: 'key'", "Quota: (5, 3)", "ValueError: bad settings")] == [
        1,
        1,
        1,
    ]


def test_causes_come_with_the_error_of_an_actors_constructor(nb: ModuleType) -> None:
    actor = Actor.remote(fails=True)
    with pytest.raises(exceptions.ActorDiedError) as caught:
        nb.get(actor.call.remote())
    assert_chain(caught.value.cause.cause)


def test_causes_come_through_a_task_that_waited(nb: ModuleType) -> None:
    @nb.remote
    def outer() -> None:
        try:
            nb.get(nb.remote(fail).remote())
        except ValueError as error:
            raise RuntimeError("outer") from error

    with pytest.raises(RuntimeError) as caught:
        nb.get(outer.remote())
    inner = caught.value.__cause__
    assert_chain(inner)
    assert isinstance(inner, exceptions.RayTaskError) and inner.function_name == "fail"


@pytest.fixture
def _own_reducers() -> Iterator[None]:
    """The debug engine runs tasks here."""
    kept = dict(copyreg.dispatch_table)
    yield
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(kept)


@pytest.mark.usefixtures("_own_reducers")
@pytest.mark.parametrize("reduces_all", [False, True], ids=["", "where tblib is used"])
def test_a_cause_that_cannot_travel_costs_nothing_else(nb: ModuleType, *, reduces_all: bool) -> None:
    @nb.remote(max_calls=1)
    def stubborn() -> None:
        if reduces_all:
            exception_reducers.register_for_all()
        try:
            {}["key"]
        except KeyError as error:
            bad = Stubborn("as it was said")
            bad.__cause__ = error
            raise ValueError("bad settings") from bad

    with pytest.raises(ValueError) as caught:
        nb.get(stubborn.remote())
    bad = caught.value.__cause__
    assert type(bad) is exceptions.UnserializableException and "Stubborn: as it was said" in str(bad)
    assert type(bad.__cause__) is KeyError


def test_the_causes_of_an_error_that_cannot_travel_itself_come(nb: ModuleType) -> None:
    @nb.remote
    def stubborn() -> None:
        try:
            {}["key"]
        except KeyError as error:
            raise Stubborn("as it was said") from error

    with pytest.raises(exceptions.RayTaskError, match="as it was said") as caught:
        nb.get(stubborn.remote())
    assert type(caught.value.__cause__) is KeyError and caught.value.cause is not None
    assert type(caught.value.cause.__cause__) is KeyError


def test_causes_come_with_the_error_of_a_rank(nb: ModuleType, tmp_path: Path) -> None:
    scaling, kept = ScalingConfig(num_workers=2), RunConfig("run", str(tmp_path))
    with pytest.raises(TrainingFailedError) as caught:
        DataParallelTrainer(fail, train_loop_config={}, scaling_config=scaling, run_config=kept).fit()
    assert_chain(caught.value.__cause__)


def test_causes_come_with_the_error_of_a_trial(nb: ModuleType, tmp_path: Path) -> None:
    (result,) = tune.Tuner(fail, param_space={"x": 1}, run_config=tune.RunConfig("experiment", str(tmp_path))).fit()
    assert_chain(result.error)

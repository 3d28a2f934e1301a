"""Errors arrive as nbaccel's own classes, and as the user's, on every engine."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import pytest

import nbaccel
from nbaccel import exceptions


class Quota(Exception):
    def __init__(self, used, allowed):
        super().__init__(used, allowed)
        self.used, self.allowed = used, allowed


@nbaccel.remote
def over_quota():
    raise Quota(5, allowed=3)


@nbaccel.remote(max_retries=0)
def crash():
    os.kill(os.getpid(), 11)


def test_a_task_error_is_also_what_the_task_raised(nb):
    with pytest.raises(Quota) as caught:
        nb.get(over_quota.remote())
    assert isinstance(caught.value, exceptions.RayTaskError)
    assert (caught.value.used, caught.value.allowed) == (5, 3)
    assert isinstance(caught.value.cause, Quota)


def test_a_task_error_tells_where_it_was_raised(nb):
    with pytest.raises(exceptions.RayTaskError) as caught:
        nb.get(over_quota.remote())
    error = caught.value
    assert error.function_name == "over_quota"
    assert error.pid not in (None, os.getpid())
    assert "raise Quota(5, allowed=3)" in str(error)
    assert "nbaccel_in_ray" not in str(error)


def test_an_actors_error_names_its_class(nb):
    @nb.remote
    class Fails:
        def now(self):
            raise ValueError("no")

    with pytest.raises(exceptions.RayTaskError) as caught:
        nb.get(Fails.remote().now.remote())
    assert (caught.value.actor, caught.value.function_name) == ("Fails", "now")


def test_an_error_tells_the_devices_of_its_task(nb):
    @nb.remote(num_gpus=1)
    def fails():
        raise ValueError("no")

    with pytest.raises(exceptions.RayTaskError) as caught:
        nb.get(fails.remote())
    assert caught.value.device_ids in ({"GPU": ["0"]}, {"GPU": ["1"]})


def test_the_error_of_an_argument_reaches_the_last_task(nb):
    @nb.remote
    def uses(value):
        return value

    with pytest.raises(Quota):
        nb.get(uses.remote(uses.remote(over_quota.remote())))


def test_an_error_passes_through_a_nested_task(nb):
    @nb.remote
    def outer():
        return nbaccel.get(over_quota.remote())

    with pytest.raises(Quota) as caught:
        nb.get(outer.remote())
    assert isinstance(caught.value.cause, Quota)


def frames(error):
    """The functions of the traceback of a task, of the tasks that it waited for too."""
    return re.findall(r"^  File .*, line \d+, in (.*)$", error.traceback_str, re.MULTILINE)


def test_a_nested_error_shows_both_tasks_and_tells_of_the_outer(nb):
    @nb.remote
    def inner():
        raise KeyError("deep")

    @nb.remote(num_gpus=1)
    def outer():
        return nbaccel.get(inner.remote())

    ref = outer.remote()
    with pytest.raises(KeyError) as caught:
        nb.get(ref)
    error = caught.value
    assert type(error).__name__ == "RayTaskError(KeyError)" and type(error.cause) is KeyError
    assert [kind.__module__ for kind in type(error).__mro__ if "Ray" in kind.__name__] == ["nbaccel.exceptions"] * 3
    assert error.function_name == "outer" and error.device_ids in ({"GPU": ["0"]}, {"GPU": ["1"]})
    found = frames(error)
    assert (found[0], found[-1]) == ("outer", "inner")
    assert error.traceback_str.count("ray::inner()") == 1


def test_the_traceback_has_the_users_frames_only(nb):
    @nb.remote
    class Fails:
        def deep(self):
            return len(5)

        def at_once(self):
            return self.deep()

        async def later(self):
            return self.deep()

    actor = Fails.remote()
    for ref in (actor.at_once.remote(), actor.later.remote()):
        with pytest.raises(TypeError) as caught:
            nb.get(ref)
        lines = caught.value.traceback_str.splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert lines[1].startswith("  File ") and frames(caught.value)[1:] == ["deep"]
        assert lines[-1].startswith("TypeError: object of type 'int' has no len")


def test_the_constructors_frames_are_told_by_the_actors_error(nb):
    @nb.remote
    class Fails:
        def __init__(self):
            raise ValueError("no weights")

        def work(self):
            return 1

    with pytest.raises(exceptions.ActorDiedError, match="no weights") as caught:
        nb.get(Fails.remote().work.remote())
    first, header, *rest = str(caught.value).splitlines()
    assert "Fails.__init__" in first and header == "Traceback (most recent call last):"
    assert [line for line in rest if line.startswith("  File ")] == [line for line in rest if "__init__" in line]
    assert rest[-1] == "ValueError: no weights"


def test_a_nested_error_is_caught_inside_the_task(nb):
    @nb.remote
    def outer():
        try:
            nbaccel.get(over_quota.remote())
        except Quota as error:
            return error.used
        return None

    assert nb.get(outer.remote()) == 5


def test_a_crashed_worker_is_told(nb):
    with pytest.raises(exceptions.WorkerCrashedError, match="crash"):
        nb.get(crash.remote())


def test_a_crashed_worker_is_told_with_its_signal(nb):
    with pytest.raises(exceptions.WorkerCrashedError, match="SIGSEGV"):
        nb.get(crash.remote())


def test_one_failed_task_leaves_the_others(nb):
    @nb.remote
    def fine(value):
        return value

    bad, good = crash.remote(), [fine.remote(i) for i in range(5)]
    assert nb.get(good) == list(range(5))
    with pytest.raises(exceptions.RayError):
        nb.get([*good, bad])


def test_every_error_is_an_nbaccel_error(nb):
    for ref in (over_quota.remote(), crash.remote()):
        with pytest.raises(exceptions.RayError):
            nb.get(ref)


@pytest.mark.parametrize("quantity", [1.5, 2.5])
def test_more_than_one_gpu_must_be_whole(nb, quantity):
    with pytest.raises(ValueError):
        over_quota.options(num_gpus=quantity).remote()


def test_a_tpu_demand_is_one_two_four_or_eight(nb):
    with pytest.raises(ValueError):
        over_quota.options(resources={"TPU": 3}).remote()


class Refused(Exception):
    """Is not made of its `args`."""

    def __init__(self, code, reason):
        self.code = code
        super().__init__(f"{reason} ({code})")


def test_an_exception_whose_constructor_wants_something_else_than_its_args_is_caught(nb):
    @nb.remote
    def refuse(together):
        raise ExceptionGroup("all", [Refused(4, "no")]) if together else Refused(4, "no")

    with pytest.raises(Refused, match=r"no \(4\)") as caught:
        nb.get(refuse.remote(False))
    assert caught.value.code == 4
    with pytest.raises(ExceptionGroup) as group:
        nb.get(refuse.remote(True))
    assert group.value.exceptions[0].code == 4


class FixedArgs(Exception):
    """Shows `args` that nobody can set."""

    def __init__(self, reason, code):
        super().__init__(reason)
        self.code = code

    @property
    def args(self):
        return ("always the same",)


@dataclass(frozen=True)
class Frozen(Exception):
    """Lets nobody set an attribute: not even Python, its traceback."""

    code: int
    reason: str = "no"


def test_an_exception_whose_args_cannot_be_set_is_caught_as_what_it_is(nb):
    @nb.remote
    def refuse():
        raise FixedArgs("no", 4)

    assert_caught(nb, refuse.remote(), FixedArgs)


def test_a_frozen_exception_is_caught_as_what_it_is(nb):
    @nb.remote
    def refuse():
        raise Frozen(4)

    assert_caught(nb, refuse.remote(), Frozen)


def assert_caught(nb, ref, kind):
    with pytest.raises(kind) as caught:
        nb.get(ref)
    assert isinstance(caught.value, exceptions.RayTaskError)
    assert caught.value.code == caught.value.cause.code == 4
    assert type(caught.value.cause) is kind


def test_a_chained_error_shows_both_and_the_frames_of_each(nb):
    @nb.remote
    def chained():
        try:
            {}["key"]
        except KeyError as error:
            raise ValueError("bad settings") from error

    with pytest.raises(ValueError) as caught:
        nb.get(chained.remote())
    told = str(caught.value)
    first, between, second = told.partition("The above exception was the direct cause of the following exception:")
    assert between and "in chained" in first and "KeyError: 'key'" in first
    assert "in chained" in second and second.endswith("ValueError: bad settings")
    assert "wrapping.py" not in told and "ip=" not in told


def test_a_group_of_errors_shows_each_with_the_users_frames_only(nb):
    @nb.remote
    def several():
        try:
            1 / 0
        except ZeroDivisionError as error:
            raise ExceptionGroup("two", [error, TypeError("other")]) from None

    with pytest.raises(ExceptionGroup) as caught:
        nb.get(several.remote())
    told = str(caught.value)
    assert "ZeroDivisionError" in told and "TypeError: other" in told
    assert "wrapping.py" not in told and "_raylet" not in told


def test_a_method_that_another_one_calls_is_a_part_of_that_call(nb):
    @nb.remote
    class Model:
        def train(self):
            self.step(ok=True)
            return self.step(ok=False)

        def step(self, ok):
            if not ok:
                raise LookupError("no batch")

    model = Model.remote()
    with pytest.raises(LookupError) as caught:
        nb.get(model.train.remote())
    assert (caught.value.actor, caught.value.function_name) == ("Model", "train")


class Stubborn(Exception):
    def __reduce__(self):
        raise TypeError("not with me")


def test_the_cause_of_an_exception_that_cannot_be_pickled_is_a_plain_error(nb):
    @nb.remote
    def fail():
        raise Stubborn("as it was said")

    with pytest.raises(nb.exceptions.RayTaskError, match="as it was said") as failed:
        nb.get(fail.remote())
    assert type(failed.value) is nb.exceptions.RayTaskError
    assert type(failed.value.cause) is nb.exceptions.RayError

"""Errors arrive as nbaccel's own classes, and as the user's, on every engine."""

from __future__ import annotations

import os

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
    assert caught.value.device_ids == {"GPU": ["0"]}


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
    with pytest.raises(exceptions.WorkerCrashedError):
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

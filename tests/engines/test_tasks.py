"""Tasks: options, nesting, retries, environments, on every engine."""

from __future__ import annotations

import os
import pickle
import threading

import numpy as np
import pytest

import nbaccel
from nbaccel import exceptions
from tests.rig import wait_until


@nbaccel.remote
def add(left, right=0):
    return left + right


@nbaccel.remote
def pid():
    return os.getpid()


def test_a_task_returns_its_value(nb):
    assert nb.get(add.remote(1, right=2)) == 3


def test_a_task_runs_in_another_process(nb):
    assert nb.get(pid.remote()) != os.getpid()


def test_get_of_a_list_keeps_its_order(nb):
    assert nb.get([add.remote(i, i) for i in range(20)]) == [2 * i for i in range(20)]


def test_a_task_returns_several_values(nb):
    first, second = add.options(num_returns=2).remote((1,), (2,))
    assert nb.get([first, second]) == [1, 2]


def test_a_task_returns_nothing_where_none_is_asked(nb):
    assert add.options(num_returns=0).remote(1, 2) is None


def test_tasks_submit_tasks(nb):
    @nb.remote
    def total(depth):
        import nbaccel

        if depth == 0:
            return nbaccel.get(add.remote(1, 1))
        return nbaccel.get(total.remote(depth - 1)) + 1

    assert nb.get(total.remote(2)) == 4


def test_a_blocked_parent_lends_its_cpu(nb):
    @nb.remote(num_cpus=4)
    def parent():
        import nbaccel

        return nbaccel.get(add.options(num_cpus=4).remote(20, 22))

    assert nb.get(parent.remote()) == 42


def test_wrong_arguments_are_refused_at_once(nb):
    with pytest.raises(TypeError):
        add.remote()


def test_a_direct_call_says_what_to_write(nb):
    with pytest.raises(TypeError, match=r"add\.remote\(\)"):
        add(1, 2)


@pytest.mark.parametrize("kind", [TypeError, pickle.PicklingError])
def test_what_cannot_be_pickled_is_named_with_its_place(nb, kind, tmp_path):
    @nb.remote
    class Keeper:
        def __init__(self, value=None):
            pass

        def take(self, value):
            pass

    @nb.remote
    def uses():
        return value

    keeper = Keeper.remote()
    with open(tmp_path / "x", "w") as file:
        value = [1, {"k": threading.Lock() if kind is TypeError else file}]
        for what, call in {
            "argument 0 of .*add": lambda: add.remote(value),
            "argument 'right' of .*add": lambda: add.remote(1, right=value),
            "argument 0 of .*Keeper": lambda: Keeper.remote(value),
            "argument 0 of .*Keeper.take": lambda: keeper.take.remote(value),
            "the value": lambda: nb.put(value),
        }.items():
            culprit = (
                rf"Could not serialize {what}: it\[1\]\['k'\] \(.*\) cannot be pickled .*path instead of an open file"
            )
            with pytest.raises(kind, match=culprit):
                call()
        with pytest.raises(TypeError, match=r"Could not serialize .*uses: value \(captured by .*uses\)\[1\]\['k'\]"):
            uses.remote()


@pytest.mark.parametrize("kind", [TypeError, pickle.PicklingError])
def test_a_result_that_cannot_be_pickled_is_named(nb, kind):
    makes_file = kind is not TypeError

    @nb.remote
    def give():
        return {"k": open(2, "w", closefd=False) if makes_file else threading.Lock()}

    with pytest.raises(kind, match=r"Could not serialize the return value of .*give: it\['k'\] .*Return plain data"):
        nb.get(give.remote())


def test_environment_variables_reach_the_task(nb):
    @nb.remote(runtime_env={"env_vars": {"NBACCEL_TEST_WORD": "blue"}})
    def word():
        return os.environ.get("NBACCEL_TEST_WORD")

    assert nb.get(word.remote()) == "blue"


def test_a_task_that_raises_is_not_retried(nb, tmp_path):
    @nb.remote
    def count():
        with open(tmp_path / "runs", "a") as file:
            file.write("x")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        nb.get(count.remote())
    assert (tmp_path / "runs").read_text() == "x"


def test_a_task_is_retried_for_the_exceptions_that_it_names(nb, tmp_path):
    @nb.remote(max_retries=2, retry_exceptions=[ValueError])
    def third_time():
        with open(tmp_path / "runs", "a") as file:
            file.write("x")
        if len((tmp_path / "runs").read_text()) < 3:
            raise ValueError("not yet")
        return "done"

    assert nb.get(third_time.remote()) == "done"


def test_a_task_whose_worker_dies_is_retried(nb, tmp_path):
    @nb.remote(max_retries=1)
    def second_time():
        first = not (tmp_path / "ran").exists()
        (tmp_path / "ran").touch()
        if first:
            os.kill(os.getpid(), 9)
        return "done"

    assert nb.get(second_time.remote()) == "done"


def test_a_waiting_task_is_cancelled_and_never_runs(nb, gate, tmp_path):
    @nb.remote
    def never():
        (tmp_path / "ran").touch()

    @nb.remote(num_cpus=4)
    def hold(gate):
        import nbaccel

        nbaccel.get(gate.wait.remote())

    blocked = hold.options(num_cpus=0, resources={"blue": 2}).remote(gate)
    wait_until(lambda: nb.get(gate.arrived.remote()))
    waiting = never.options(resources={"blue": 2}).remote()
    nb.cancel(waiting)
    with pytest.raises(exceptions.TaskCancelledError) as caught:
        nb.get(waiting)
    assert not isinstance(caught.value, exceptions.RayTaskError)
    nb.get(gate.open.remote())
    nb.get(blocked)
    nb.get(add.options(resources={"blue": 2}).remote(1))  # what it waited for is free
    assert not (tmp_path / "ran").exists()


def test_a_running_task_is_cancelled(nb, tmp_path):
    @nb.remote
    def forever():
        import time

        (tmp_path / "began").touch()
        while True:
            time.sleep(0.01)

    ref = forever.remote()
    wait_until((tmp_path / "began").exists)
    nb.cancel(ref)
    with pytest.raises(exceptions.TaskCancelledError) as caught:
        nb.get(ref)
    assert isinstance(caught.value, exceptions.RayTaskError)
    assert "in forever" in str(caught.value)


def test_a_running_task_is_killed_by_force(nb, tmp_path):
    @nb.remote(max_retries=0)
    def deaf():
        import time

        (tmp_path / "began").touch()
        while True:
            try:
                time.sleep(0.01)
            except KeyboardInterrupt:
                pass

    ref = deaf.remote()
    wait_until((tmp_path / "began").exists)
    nb.cancel(ref, force=True)
    with pytest.raises((exceptions.TaskCancelledError, exceptions.WorkerCrashedError)):
        nb.get(ref)


def test_a_custom_resource_limits_how_many_run(nb, gate):
    @nb.remote(num_cpus=0, resources={"blue": 1})
    def hold(gate):
        import nbaccel

        nbaccel.get(gate.wait.remote())

    refs = [hold.remote(gate) for _ in range(3)]
    wait_until(lambda: nb.get(gate.arrived.remote()) == 2)
    assert nb.wait(refs, num_returns=1, timeout=0) == ([], refs)
    nb.get(gate.open.remote())
    nb.get(refs)


def test_the_name_of_a_task_is_what_its_options_say(nb):
    @nb.remote
    def who():
        import nbaccel

        return nbaccel.get_runtime_context().get_task_name()

    assert nb.get(who.options(name="shown").remote()) == "shown"


def test_a_later_call_sees_what_the_function_captured_first(nb):
    word = "first"

    @nb.remote
    def say():
        return word

    assert nb.get(say.remote()) == "first"


# ---- what is nearly right is taken as it is meant


def test_flags_need_not_be_exactly_true_or_false(nb):
    @nb.remote
    class Actor:
        def call(self):
            return 1

    @nb.remote
    def one():
        return 1

    for flag in (0, 1, None, "", np.bool_(True)):
        ref, actor = one.remote(), Actor.remote()
        nb.get([ref, actor.call.remote()])
        nb.cancel(ref, force=flag, recursive=flag)
        nb.kill(actor, no_restart=flag)
    assert nb.get(one.remote()) == 1  # the connection has survived it all


def test_numpys_numbers_and_words_are_numbers_and_words(nb):
    @nb.remote
    def one():
        return 1

    ref = one.options(name=np.str_("one"), num_cpus=np.int64(1), max_retries=np.int32(2)).remote()
    assert nb.get(ref, timeout=np.int64(60)) == 1
    assert nb.wait([ref], num_returns=np.int64(1), timeout=np.float32(60)) == ([ref], [])


def test_rays_names_of_the_first_argument_are_known(nb):
    ref = nb.put(1)
    assert nb.get(object_refs=ref) == 1 and nb.get(object_refs=[ref]) == [1]
    assert nb.wait(ray_waitables=[ref]) == ([ref], [])
    nb.cancel(ray_waitable=ref)


def test_an_error_of_pickling_is_the_one_that_was_raised(nb):
    class Refuses:
        def __reduce__(self):
            raise NotImplementedError("this one stays here")

    with pytest.raises(NotImplementedError, match="stays here"):
        nb.put(Refuses())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fallback_strategy": [{}]}, "empty"),
        ({"fallback_strategy": ["x"]}, "choice"),
        ({"label_selector": {"zone": None}}, "label"),
        ({"label_selector": {"zone": "x" * 64}}, "label"),
        ({"resources": {"object_store_memory": 1}}, "object_store_memory"),
    ],
)
def test_demands_that_would_not_mean_what_they_say_are_refused(nb, options, words):
    with pytest.raises(ValueError, match=words):

        @nb.remote(**options)
        def never(): ...


def test_the_older_spelling_of_a_call_takes_its_options_beside_its_arguments(nb):
    assert nb.get(add._remote(args=[1], kwargs={"right": 2})) == 3
    assert nb.get(add._remote(((1,), (2,)), num_returns=2, num_cpus=0)) == [1, 2]
    with pytest.raises(TypeError, match="left"):
        add._remote()
    with pytest.raises(ValueError, match="num_gpu"):
        add._remote((1,), num_gpu=1)

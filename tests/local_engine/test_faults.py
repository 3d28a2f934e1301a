"""Where something goes wrong x how it does: each has its error, its words, and nothing is left over.

The places: pickling the task in the driver, unpickling it in the worker, running it, pickling its result in the
worker, unpickling that in the driver.
"""

from __future__ import annotations

import re

import pytest

import nbaccel
from nbaccel import exceptions
from tests.census import Place
from tests.local_engine.misbehaving import Broken, submit, take

PROGRAM = """
import nbaccel
from tests.local_engine import misbehaving
nbaccel.init(num_cpus=1)
nbaccel.get(misbehaving.submit({where!r}, {how!r}))
"""


IN_THE_WORKER = ("unpickling the task", "running", "pickling the result")
NAMES = {"unpickling the task": "take", "running": "run", "pickling the result": "give"}
DEATHS = {
    "exit": ("exited with code 3", 3, None),
    "hard exit": ("exited with code 4", 4, None),
    "segfault": ("was killed by SIGSEGV (a segmentation fault in native code)", None, 11),
}


@pytest.mark.parametrize("how", DEATHS)
@pytest.mark.parametrize("where", IN_THE_WORKER)
def test_a_worker_that_dies_is_named_with_how_it_died(cluster: Place, where: str, how: str) -> None:
    words, code, number = DEATHS[how]
    with pytest.raises(exceptions.WorkerCrashedError, match=re.escape(words)) as caught:
        nbaccel.get(submit(where, how))
    assert str(caught.value).startswith(f"{NAMES[where]} ")
    assert (caught.value.exit_code, caught.value.signal_number) == (code, number)


def test_an_error_while_running_arrives_as_the_users_own_type(cluster: Place) -> None:
    with pytest.raises(Broken, match="it broke") as caught:
        nbaccel.get(submit("running", "raise"))
    assert isinstance(caught.value, exceptions.RayTaskError)
    assert "in go_wrong" in str(caught.value)


def test_an_error_while_unpickling_an_argument_says_so(cluster: Place) -> None:
    with pytest.raises(Broken) as caught:
        nbaccel.get(submit("unpickling the task", "raise"))
    assert "while the arguments of take were unpickled in the worker" in str(caught.value)
    assert "in go_wrong" in str(caught.value)


def test_an_error_while_pickling_a_result_names_the_object(cluster: Place) -> None:
    with pytest.raises(Broken) as caught:
        nbaccel.get(submit("pickling the result", "raise"))
    assert isinstance(caught.value, exceptions.RayTaskError)
    assert "Could not serialize the return value of give" in str(caught.value)
    assert "WhenPickled" in str(caught.value)
    assert "it broke" in str(caught.value)
    assert "nbaccel/local_engine" not in str(caught.value)


def test_an_error_while_pickling_an_argument_names_it(cluster: Place) -> None:
    with pytest.raises(Broken, match="it broke") as caught:
        submit("pickling the task", "raise")
    (note,) = caught.value.__notes__
    assert re.search(r"Could not serialize argument 0 of take: .*WhenPickled", note)


def test_an_error_while_unpickling_a_result_names_the_object_and_what_was_raised(cluster: Place) -> None:
    ref = submit("unpickling the result", "raise")
    for _ in range(2):  # the value stays what it is
        with pytest.raises(exceptions.RaySystemError, match=f"{ref.hex()}.*Broken: it broke") as caught:
            nbaccel.get(ref)
    assert isinstance(caught.value.__cause__, Broken)


@pytest.mark.parametrize("where", ["pickling the task", "unpickling the result"])
def test_an_exit_asked_for_in_the_driver_is_the_drivers(cluster: Place, where: str) -> None:
    with pytest.raises(SystemExit) as caught:
        nbaccel.get(submit(where, "exit"))
    assert caught.value.code == 3


@pytest.mark.parametrize(("how", "code"), [("exit", 3), ("hard exit", 4), ("segfault", -11)])
@pytest.mark.parametrize("where", ["pickling the task", "unpickling the result"])
def test_a_driver_that_dies_leaves_nothing(place: Place, where: str, how: str, code: int) -> None:
    done = place.run(PROGRAM.format(where=where, how=how))
    assert done.returncode == code, done.stderr


def test_the_head_works_on_after_all_of_this(cluster: Place) -> None:
    assert nbaccel.get(take.remote(1)) is None

"""User code that does what one should not: each gets an answer, and the next task finds everything in order."""

from __future__ import annotations

from typing import Any

import pytest

import nbaccel
from nbaccel import exceptions
from tests.census import Place
from tests.local_engine import misbehaving, odd
from tests.rig import DEADLINE_S


@pytest.mark.parametrize("name", ["BadStr", "ExceptionGroup", "StopIteration", "Cycle", "RecursionError", "Huge"])
def test_any_exception_arrives_as_what_it_is(cluster: Place, name: str) -> None:
    wanted: Any = {"BadStr": odd.BadStr, "Cycle": ValueError, "Huge": ValueError}.get(name) or eval(name)
    with pytest.raises(wanted) as caught:
        nbaccel.get(odd.throw.remote(name))
    assert isinstance(caught.value, exceptions.RayTaskError)


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "GeneratorExit", "OwnBase"])
def test_what_is_no_ordinary_exception_never_leaves_the_task_as_itself(cluster: Place, name: str) -> None:
    with pytest.raises(exceptions.RayTaskError, match=name) as caught:
        nbaccel.get(odd.throw.remote(name))
    assert isinstance(caught.value, Exception)


def test_an_exception_that_cannot_be_pickled_still_tells_its_words(cluster: Place) -> None:
    with pytest.raises(exceptions.RayTaskError, match="Locked: the words"):
        nbaccel.get(odd.throw.remote("Locked"))


def test_an_exception_that_cannot_be_unpickled_is_still_its_own_class(cluster: Place) -> None:
    with pytest.raises(odd.TwoArguments, match="1 and 2"):
        nbaccel.get(odd.throw.remote("TwoArguments"))


def test_a_task_that_closes_our_connection_is_a_crash(cluster: Place) -> None:
    with pytest.raises(exceptions.WorkerCrashedError, match="exited with code 1"):
        nbaccel.get(odd.close_everything.options(max_retries=0).remote())


@pytest.mark.parametrize("deed", ["sys.stdout = None", "sys.stdout.close()", "os.chdir('/')", "nbaccel.shutdown()"])
def test_the_next_task_finds_its_surroundings_in_order(cluster: Place, deed: str) -> None:
    nbaccel.get(odd.do.options(num_cpus=2).remote(deed))
    assert nbaccel.get(odd.surroundings.options(num_cpus=2).remote()) == (True, True)


def test_an_error_that_holds_a_ref_keeps_it_alive(cluster: Place) -> None:
    with pytest.raises(ValueError, match="with a ref") as caught:
        nbaccel.get(odd.throw.remote("HoldsRef"))
    cause: Any = caught.value.cause  # type: ignore[attr-defined]
    assert nbaccel.get(cause.ref) == "held"
    del cause, caught


def test_a_huge_error_is_shared_by_all_results_and_by_those_who_take_them(cluster: Place) -> None:
    refs = odd.throw.options(num_returns=3).remote("Huge")
    taken = [odd.do.remote(ref) for ref in refs]
    for ref in [*refs, *taken, *refs]:
        with pytest.raises(ValueError, match="xxx"):
            nbaccel.get(ref)


def test_an_error_lets_go_of_the_arrays_in_its_frames(cluster: Place) -> None:
    with pytest.raises(ValueError, match="after the array"):
        nbaccel.get(odd.fail_with_an_array.options(num_cpus=2).remote())
    assert nbaccel.get(odd.arrays_alive.options(num_cpus=2).remote()) == 0


def test_a_thread_that_a_task_leaves_behind_does_not_hold_its_cpu(cluster: Place) -> None:
    assert nbaccel.get(odd.leave_a_thread.options(num_cpus=2).remote()) == "left"
    assert nbaccel.get(odd.surroundings.options(num_cpus=2).remote())[1]


def test_init_inside_a_task_says_that_it_runs_already(cluster: Place) -> None:
    with pytest.raises(RuntimeError, match="running already"):
        nbaccel.get(odd.do.remote("nbaccel.init()"))


def test_a_task_that_only_looks_whether_its_child_is_done_lets_it_run(cluster: Place) -> None:
    assert nbaccel.get(misbehaving.look_until_ready.options(num_cpus=2).remote(), timeout=DEADLINE_S) == 5


def test_half_a_character_in_an_exceptions_words_kills_nobody(cluster: Place) -> None:
    with pytest.raises(ValueError, match="a\udc80"):
        nbaccel.get(odd.throw.remote("Surrogate"))

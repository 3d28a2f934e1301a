"""What runs again, and what never runs, or stops."""

import os
import time

import pytest

import nbaccel
from nbaccel import exceptions
from tests.rig import Gate, wait_until


def _run(path):
    """Count a run; how many there were."""
    with open(path, "a") as file:
        file.write("x")
    return os.path.getsize(path)


@nbaccel.remote(max_retries=3)
def raises(path, until, kind=ValueError):
    runs = _run(path)
    if runs < until:
        raise kind("not yet")
    return runs


@nbaccel.remote(max_retries=2)
def crashes(path, until):
    runs = _run(path)
    if runs < until:
        os._exit(1)
    return runs


@pytest.fixture
def runs(tmp_path):
    return str(tmp_path / "runs")


@pytest.mark.parametrize("which", [True, [ValueError], (OSError, ValueError)])
def test_a_task_is_retried_for_the_errors_that_it_names(runs, which):
    assert nbaccel.get(raises.options(retry_exceptions=which).remote(runs, 3)) == 3


@pytest.mark.parametrize("which", [False, [OSError]])
def test_other_errors_are_not_retried(runs, which):
    with pytest.raises(ValueError, match="not yet"):
        nbaccel.get(raises.options(retry_exceptions=which).remote(runs, 2))
    assert os.path.getsize(runs) == 1


def test_retries_come_to_an_end(runs):
    with pytest.raises(ValueError):
        nbaccel.get(raises.options(retry_exceptions=True).remote(runs, 100))
    assert os.path.getsize(runs) == 4


def test_a_crash_is_retried_and_counted(runs, tmp_path):
    assert nbaccel.get(crashes.remote(runs, 3)) == 3
    with pytest.raises(exceptions.WorkerCrashedError, match="code 1"):
        nbaccel.get(crashes.remote(str(tmp_path / "others"), 100))
    assert os.path.getsize(tmp_path / "others") == 3


@nbaccel.remote
def begun_and(path, what):
    open(path, "w").close()
    if what == "sleep":
        time.sleep(1000)
    elif what == "spin":
        while True:
            pass
    elif what == "block in C":
        import ctypes

        ctypes.CDLL(None).sleep(1000)
    elif what == "catch":
        try:
            time.sleep(1000)
        except KeyboardInterrupt:
            return "caught"
    elif what == "get":
        nbaccel.get(Gate.remote().wait.remote())


@pytest.mark.parametrize("what", ["sleep", "spin", "block in C", "get"])
def test_a_running_task_is_cancelled(tmp_path, what):
    ref = begun_and.remote(str(tmp_path / "begun"), what)
    wait_until((tmp_path / "begun").exists)
    nbaccel.cancel(ref)
    with pytest.raises(exceptions.TaskCancelledError):
        nbaccel.get(ref)


def test_a_task_may_catch_its_cancel(tmp_path):
    ref = begun_and.remote(str(tmp_path / "begun"), "catch")
    wait_until((tmp_path / "begun").exists)
    nbaccel.cancel(ref)
    try:
        assert nbaccel.get(ref) == "caught"
    except exceptions.TaskCancelledError:
        pass  # the interrupt came before the try


def test_force_ends_the_process(tmp_path):
    ref = begun_and.remote(str(tmp_path / "begun"), "block in C")
    wait_until((tmp_path / "begun").exists)
    nbaccel.cancel(ref, force=True)
    with pytest.raises((exceptions.TaskCancelledError, exceptions.WorkerCrashedError)):
        nbaccel.get(ref)


@nbaccel.remote
def plus_one(x):
    return x + 1


def test_what_waits_never_runs(runs):
    gate = Gate.remote()

    @nbaccel.remote
    def held(gate):
        return nbaccel.get(gate.wait.remote())

    for_resources = raises.options(num_gpus=100).remote(runs, 1)
    for_an_argument = raises.remote(runs, held.remote(gate))
    for ref in (for_resources, for_an_argument):
        nbaccel.cancel(ref)
        with pytest.raises(exceptions.TaskCancelledError):
            nbaccel.get(ref)
    nbaccel.get(gate.open.remote())
    assert not os.path.exists(runs)


def test_a_finished_task_keeps_its_value():
    ref = plus_one.remote(1)
    nbaccel.get(ref)
    nbaccel.cancel(ref)
    assert nbaccel.get(ref) == 2


@pytest.mark.parametrize("recursive", [True, False])
def test_children_are_cancelled_with_their_parent_unless_told_otherwise(tmp_path, recursive):
    @nbaccel.remote
    def parent(gate, path):
        return nbaccel.get(child.remote(gate, path))

    @nbaccel.remote
    def child(gate, path):
        try:
            nbaccel.get(gate.wait.remote())
            open(f"{path}-done", "w").close()
        except BaseException:
            open(f"{path}-cancelled", "w").close()
            raise

    gate, path = Gate.remote(), tmp_path / "child"
    ref = parent.remote(gate, str(path))
    wait_until(lambda: nbaccel.get(gate.arrived.remote()))
    nbaccel.cancel(ref, recursive=recursive)
    with pytest.raises(exceptions.TaskCancelledError):
        nbaccel.get(ref)
    if not recursive:
        nbaccel.get(gate.open.remote())
    wait_until((tmp_path / ("child-cancelled" if recursive else "child-done")).exists)


def test_only_refs_and_streams_are_cancelled():
    with pytest.raises(TypeError):
        nbaccel.cancel("ref")


def test_nested_tasks_lend_their_cpu():
    @nbaccel.remote
    def deep(n):
        return 0 if n == 0 else 1 + nbaccel.get(deep.remote(n - 1))

    assert nbaccel.get(deep.remote(12)) == 12


def test_a_call_takes_ten_thousand_refs():
    @nbaccel.remote
    def total(*values):
        return sum(values)

    assert nbaccel.get(total.remote(*[nbaccel.put(1) for _ in range(10_000)])) == 10_000


def test_a_crash_is_blamed_on_the_task_that_crashed():
    @nbaccel.remote(max_retries=0)
    def quick(i, culprit):
        if i == culprit:
            os._exit(1)
        return i

    nbaccel.get([quick.remote(i, None) for i in range(50)])  # now it is known to be short, and is sent ahead
    refs = [quick.remote(i, 60) for i in range(100)]
    for i, ref in enumerate(refs):
        if i == 60:
            with pytest.raises(exceptions.WorkerCrashedError):
                nbaccel.get(ref)
        else:
            assert nbaccel.get(ref) == i

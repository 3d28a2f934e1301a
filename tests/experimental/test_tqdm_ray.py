"""Bars inside of tasks tell the head how far the task is."""

import pytest

import nbaccel
from nbaccel.experimental import tqdm_ray
from tests.rig import Gate, wait_until


@pytest.fixture(autouse=True)
def engine():
    nbaccel.init(num_cpus=2)
    yield
    nbaccel.shutdown()


def test_a_tasks_bar_is_its_progress_in_the_snapshot():
    @nbaccel.remote
    def work(gate):
        bar = tqdm_ray.tqdm(total=10, flush_interval_s=0)
        bar.update(4)
        nbaccel.get(gate.wait.remote())
        bar.close()
        return bar.n

    gate = Gate.remote()
    ref = work.remote(gate)
    wait_until(lambda: [task for task in nbaccel.snapshot().tasks if task.progress == (4.0, 10.0)])
    nbaccel.get(gate.open.remote())
    assert nbaccel.get(ref) == 4


def test_it_goes_around_an_iterable():
    @nbaccel.remote
    def work():
        bar = tqdm_ray.tqdm([1, 2, 3], desc="items")
        return list(bar), bar.n, bar.total

    assert nbaccel.get(work.remote()) == ([1, 2, 3], 3, 3)


def test_how_far_it_is_and_how_much_there_is_can_be_set():
    @nbaccel.remote
    def work(gate):
        bar = tqdm_ray.tqdm(flush_interval_s=0)
        bar.total, bar.n = 20, 5
        bar.refresh()
        nbaccel.get(gate.wait.remote())
        return bar.n, bar.total

    gate = Gate.remote()
    ref = work.remote(gate)
    wait_until(lambda: [task for task in nbaccel.snapshot().tasks if task.progress == (5.0, 20.0)])
    nbaccel.get(gate.open.remote())
    assert nbaccel.get(ref) == (5, 20)


def test_a_drivers_bar_is_set_as_well():
    pytest.importorskip("tqdm")
    with tqdm_ray.tqdm(total=2) as bar:
        bar.total, bar.n = 10, 3
        bar.refresh()
        assert (bar._bar.total, bar._bar.n) == (10, 3)


def test_safe_print_prints(capsys):
    tqdm_ray.safe_print("a", 1, sep="-")
    assert capsys.readouterr().out == "a-1\n"

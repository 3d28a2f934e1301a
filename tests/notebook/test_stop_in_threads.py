"""Stop in a real kernel, while threads of the cell wait: they end, and their tasks are cancelled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbaccel.waits import stopping
from tests.notebook.kernels import Kernel

SETUP = """
%load_ext nbaccel
import asyncio, os, threading, time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
import nbaccel as ray
ray.init(num_cpus=4, num_gpus=2)

@ray.remote(num_gpus=1)
def slow():
    time.sleep(600)

@ray.remote(num_gpus=1)
def yields():
    time.sleep(600)
    yield 1

def wait_for_one(i=0):
    return ray.get(slow.remote())

async def await_one():
    return await slow.remote()

async def read_all(things):
    return [each async for each in things]

def joined(*targets):
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
CELLS = {
    "a pool": "with ThreadPoolExecutor(2) as p: list(p.map(wait_for_one, range(2)))",
    "a pool with a queue": "with ThreadPoolExecutor(2) as p: [p.submit(wait_for_one) for _ in range(6)]",
    "joined threads": "joined(wait_for_one, wait_for_one)",
    "a pool of multiprocessing": "ThreadPool(2).map(wait_for_one, range(2))",
    "joblib": "import joblib\njoblib.Parallel(2, backend='threading')(map(joblib.delayed(wait_for_one), range(2)))",
    "to_thread": "await asyncio.gather(*(asyncio.to_thread(wait_for_one) for _ in range(2)))",
    "run_in_executor": "run = asyncio.get_running_loop().run_in_executor\n"
    "await asyncio.gather(*(run(None, wait_for_one) for _ in range(2)))",
    "wait": "refs = [slow.remote() for _ in range(2)]\njoined(lambda: ray.wait(refs))",
    "wait for one and its future": "joined(lambda: slow.remote().future().result(), wait_for_one)",
    "streams": "joined(lambda: list(yields.remote()), lambda: list(yields.remote()))",
    "loops of pools": "with ThreadPoolExecutor(2) as p: list(p.map(asyncio.run, [await_one(), await_one()]))",
    "loops that read streams": "read = lambda: asyncio.run(read_all(yields.remote()))\njoined(read, read)",
    "loops that wait for all": "refs = [slow.remote() for _ in range(2)]\n"
    "joined(lambda: asyncio.run(read_all(ray.as_completed(refs))))",
    "scikit-learn": "from joblib import parallel_config\nfrom sklearn.dummy import DummyClassifier\n"
    "from sklearn.model_selection import cross_val_score\nscores = lambda *given: wait_for_one()\n"
    "with parallel_config(backend='threading'):\n"
    "    cross_val_score(DummyClassifier(), [[0]] * 8, [0, 1] * 4, scoring=scores, cv=2, n_jobs=2)",
    "optuna": "import optuna\noptuna.create_study().optimize(lambda trial: wait_for_one(), n_trials=2, n_jobs=2)",
}


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    kernel = Kernel()
    setup = kernel.run(SETUP)
    assert setup.error is None, setup.error
    yield kernel
    kernel.close()


def _running(kernel: Kernel, number: int) -> None:
    """Wait until so many tasks run; asked from outside, since the kernel is busy."""
    kernel.until(
        lambda: (
            len([title for title in kernel.descendants().values() if "::slow" in title or "::yields" in title])
            == number
        )
    )


PARAMETERS = [
    pytest.param(code, id=name, marks=[pytest.mark.extra("sklearn")] if name == "scikit-learn" else [])
    for name, code in CELLS.items()
]


@pytest.mark.parametrize("code", PARAMETERS)
def test_one_press_ends_the_cell_and_frees_the_devices(kernel: Kernel, code: str) -> None:
    cell = kernel.submit(code)
    _running(kernel, 2)
    kernel.interrupt()
    kernel.finish(cell)
    assert "2 tasks cancelled" in cell.text or "1 task cancelled" in cell.text, cell.text
    assert "killed" not in cell.text, cell.text
    _running(kernel, 0)
    kernel.until(lambda: kernel.run("print(ray.available_resources()['GPU'])").stdout == "2.0\n")


def test_a_cell_that_a_thread_runs_as_a_task_ends_with_the_press(kernel: Kernel) -> None:
    cell = kernel.submit("joined(lambda: get_ipython().run_cell_magic('accel', 'num_gpus=1', 'time.sleep(600)'))")
    kernel.until(lambda: any(title.endswith("::accel") for title in kernel.descendants().values()))
    kernel.interrupt()
    kernel.finish(cell)
    assert "1 task cancelled" in cell.text, cell.text
    kernel.until(lambda: kernel.run("print(ray.available_resources()['GPU'])").stdout == "2.0\n")


FITS = """
from nbaccel import train, tune
from nbaccel.train.data_parallel_trainer import DataParallelTrainer

def reports(config=None):
    print("begun", flush=True)
    while True:
        train.report({"loss": 1.0})
        time.sleep(0.05)

def tries(config):
    print("begun", flush=True)
    while True:
        tune.report({"loss": 1.0})
        time.sleep(0.05)
"""
RUNS = {
    "fit": "DataParallelTrainer(reports, scaling_config=train.ScalingConfig(num_workers=1)).fit()",
    "a tuner": "tune.Tuner(tries).fit()",
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_run_in_a_thread_stops_after_its_next_report(kernel: Kernel, run: str, tmp_path: Path) -> None:
    kernel.run(f"os.environ['NBACCEL_STORAGE'] = {str(tmp_path)!r}\n{FITS}")
    cell = kernel.submit(f"joined(lambda: {run})")
    kernel.until(lambda: "begun" in cell.text)
    kernel.interrupt()
    kernel.finish(cell)
    kernel.until(lambda: kernel.run("print(ray.available_resources()['CPU'])").stdout == "4.0\n")


def test_a_thread_with_the_number_of_one_that_has_ended_is_of_the_cell_that_started_it() -> None:
    before = threading.Thread(target=(ended := threading.Event()).wait)
    before.start()
    stopping.cell_started()
    assert not stopping._is_of_this_cell(before)
    ended.set()
    before.join()
    for _ in range(1000):  # the system gives the number again, mostly at once
        after = threading.Thread(target=(more := threading.Event()).wait)
        after.start()
        number, is_of_cell = after.ident, stopping._is_of_this_cell(after)
        more.set()
        after.join()
        assert is_of_cell
        if number == before.ident:
            return
    pytest.skip("the system gave no number a second time")


def test_a_thread_of_an_earlier_cell_goes_on(kernel: Kernel) -> None:
    kernel.run("background = threading.Thread(target=wait_for_one); background.start()")
    _running(kernel, 1)
    cell = kernel.submit("with ThreadPoolExecutor(1) as p: list(p.map(wait_for_one, range(1)))")
    _running(kernel, 2)
    kernel.interrupt()
    kernel.finish(cell)
    _running(kernel, 1)
    assert kernel.run("print(background.is_alive())").stdout == "True\n"
    kernel.run("%accel_cancel --all")
    _running(kernel, 0)
    kernel.run("background.join()")


def test_a_task_that_ignores_the_first_press_is_left_by_the_wait_and_killed_by_the_second(kernel: Kernel) -> None:
    kernel.run(
        "@ray.remote(num_gpus=1)\ndef slow():\n    while True:\n        try:\n            time.sleep(600)\n"
        "        except KeyboardInterrupt:\n            print('ignored', flush=True)\n"
    )
    cell = kernel.submit("joined(lambda: ray.get(slow.remote()))")
    _running(kernel, 1)
    kernel.interrupt()
    kernel.until(lambda: "ignored" in cell.stdout)
    kernel.finish(cell)
    kernel.run("%accel_cancel --all --force")
    _running(kernel, 0)

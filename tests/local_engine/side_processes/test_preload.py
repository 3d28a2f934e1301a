"""Libraries that are imported once, before the fork: each is there when a task begins, and works with its threads."""

import sys
from importlib.util import find_spec

import pytest

import nbaccel
from tests.census import Place


def with_pandas():
    import pandas

    frame = pandas.DataFrame({"key": [1, 2] * 5000, "value": range(10000)})
    return frame.groupby("key").value.sum().to_dict() == {1: 24995000, 2: 25000000}


def with_pyarrow():
    import pyarrow

    table = pyarrow.table({"key": [1, 2] * 5000, "value": range(10000)})
    sums = table.group_by("key", use_threads=True).aggregate([("value", "sum")]).to_pylist()
    return {row["key"]: row["value_sum"] for row in sums} == {1: 24995000, 2: 25000000}


def with_sklearn():
    from sklearn.cluster import KMeans

    found = KMeans(n_clusters=2, n_init=1, random_state=0).fit([[0.0], [0.1], [9.0], [9.1]] * 50).labels_
    return found[0] == found[1] != found[2] == found[3]


def with_xgboost():
    import numpy
    import xgboost

    rows = numpy.arange(200.0).reshape(-1, 1)
    data = xgboost.DMatrix(rows, label=rows[:, 0] > 100)
    model = xgboost.train({"nthread": 2, "objective": "binary:logistic"}, data, num_boost_round=2)
    return (model.predict(data) > 0.5).sum() == 99


def with_lightgbm():
    import lightgbm
    import numpy

    rows = numpy.arange(200.0).reshape(-1, 1)
    data = lightgbm.Dataset(rows, label=rows[:, 0] > 100)
    model = lightgbm.train({"num_threads": 2, "objective": "binary", "verbose": -1}, data, num_boost_round=20)
    return abs((model.predict(rows) > 0.5).sum() - 99) <= 3  # its bins hold three rows each


USES = {
    "pandas": with_pandas,
    "pyarrow": with_pyarrow,
    "sklearn": with_sklearn,
    "xgboost": with_xgboost,
    "lightgbm": with_lightgbm,
}


INSTALLED = [name for name in USES if find_spec(name) is not None]


PRELOADS = """
import nbaccel
nbaccel.init(num_cpus=1, preload={})
nbaccel.get(nbaccel.remote(lambda: 5).remote())
nbaccel.shutdown()
"""


@pytest.fixture(scope="module")
def said():
    """What a program that preloads them is told by nbaccel: of each that could not be, and nothing of the others."""
    place = Place()
    done = place.run(PRELOADS.format(INSTALLED))
    place.assert_nothing_left()
    place.clear()
    assert done.returncode == 0, done.stderr
    return [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("nbaccel:")]


@pytest.fixture(scope="module")
def preloaded():
    """A head whose fork server has imported them."""
    nbaccel.init(num_cpus=1, preload=INSTALLED)
    yield
    nbaccel.shutdown()


@nbaccel.remote
def used(name):
    there = name in sys.modules
    return there, bool(USES[name]())


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.extra(name)) for name in USES])
def test_a_library_may_be_preloaded_is_there_when_a_task_begins_and_works(said, preloaded, name):
    assert not [line for line in said if name in line]
    assert nbaccel.get(used.remote(name)) == (True, True)


LEAVES_THREADS = """
import ctypes, threading

def run(name):
    ctypes.CDLL(None).prctl(15, name)  # PR_SET_NAME
    named.wait()
    threading.Event().wait()

named = threading.Barrier(3)
for name in (b"jemalloc_bg_thd", b"sender"):
    threading.Thread(target=run, args=[name], daemon=True).start()
named.wait()
"""


def test_a_library_that_leaves_a_thread_is_not_preloaded_and_the_thread_is_named(place, tmp_path):
    (tmp_path / "leaves_threads.py").write_text(LEAVES_THREADS)
    done = place.run(PRELOADS.format(["leaves_threads"]), PYTHONPATH=f"{tmp_path}:{place.environ['PYTHONPATH']}")
    why = "leaves_threads left 1 running thread(s), which do not survive a fork (of those named sender)"
    assert why in done.stdout + done.stderr


MAKES_AN_OPTIMIZER = """
import nbaccel

@nbaccel.remote
def imported():
    import sys, torch

    before = set(sys.modules)
    torch.optim.Adam(torch.nn.Linear(1, 1).parameters()).step()
    return len(set(sys.modules) - before)

nbaccel.init(num_cpus=1, preload=["torch"])
print(nbaccel.get(imported.remote()), "modules")
nbaccel.shutdown()
"""


@pytest.mark.extra("torch")
@pytest.mark.timeout(300)
def test_a_task_with_torch_preloaded_imports_next_to_nothing_for_its_first_optimizer(place):
    done = place.run(MAKES_AN_OPTIMIZER)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) < 50  # more than 800 without torch._dynamo


MAKES_A_DECODER = """
import nbaccel

@nbaccel.remote(num_gpus=1)
def has_made_it():
    import gc
    from nbaccel.local_engine import wire

    return any(each is wire.decode_to_client for each in gc.get_objects())  # those of before the fork are frozen

nbaccel.init(num_cpus=1, num_gpus=1)
print([nbaccel.get(has_made_it.remote()) for _ in range(2)])
nbaccel.shutdown()
"""


def test_a_worker_takes_over_what_reads_messages_and_need_not_make_it(place):
    done = place.run(MAKES_A_DECODER)
    assert done.stdout.strip() == "[False, False]", done.stderr

"""Dask's graphs as tasks."""

import os

import pytest

import nbaccel

dask = pytest.importorskip("dask", reason="dask is not installed")

from nbaccel.util.dask import (  # noqa: E402  only where there is dask
    RayDaskCallback,
    disable_dask_on_ray,
    enable_dask_on_ray,
    ray_dask_get,
)


@dask.delayed
def add(a, b):
    return a + b


@dask.delayed
def where(_after=None):
    return os.getpid(), nbaccel.get_runtime_context().get_accelerator_ids()["GPU"]


def test_a_graph_runs_in_workers_and_its_values_keep_their_nesting():
    total = add(add(1, 2), add(3, 4))
    assert dask.compute(total, [add(total, 1), {"x": add(total, 2)}], scheduler=ray_dask_get) == (
        10,
        [11, {"x": 12}],
    )
    pid, _ = where().compute(scheduler=ray_dask_get)
    assert pid != os.getpid()


def test_it_is_dasks_scheduler_for_as_long_as_it_is_enabled():
    with enable_dask_on_ray():
        assert where().compute()[0] != os.getpid()
        with disable_dask_on_ray():
            assert dask.config.get("scheduler") is None
    assert dask.config.get("scheduler", None) is not ray_dask_get


def test_arrays_and_frames_come_out_as_dask_computes_them():
    array = pytest.importorskip("dask.array", reason="numpy is not installed")
    frame = pytest.importorskip("dask.dataframe", reason="pandas or pyarrow is not installed")
    import pandas

    numbers = array.arange(1000, chunks=100)
    plain = pandas.DataFrame({"key": [1, 2, 3] * 100, "value": range(300)})
    with enable_dask_on_ray():
        assert int((numbers * 2).sum().compute()) == 999_000
        sums = frame.from_pandas(plain, npartitions=4).groupby("key").value.sum().compute()
    assert sums.sort_index().tolist() == plain.groupby("key").value.sum().tolist()


def test_options_go_to_all_tasks_or_to_what_was_written_under_them():
    assert len(where().compute(scheduler=ray_dask_get, ray_remote_args={"num_gpus": 1})[1]) == 1
    with dask.annotate(ray_remote_args={"num_gpus": 0.5}):
        greedy = where()
    _, (_, ids), (_, none) = dask.compute(add(1, 1), greedy, where(), scheduler=ray_dask_get, optimize_graph=False)
    assert len(ids) == 1 and none == []
    with pytest.raises(ValueError, match="ray_remote_args"):
        where().compute(scheduler=ray_dask_get, resources={"GPU": 1})


def test_what_a_node_raises_arrives_as_itself():
    with pytest.raises(ZeroDivisionError):
        dask.delayed(lambda: 1 / 0)().compute(scheduler=ray_dask_get)


def test_values_that_are_kept_in_the_cluster_are_refs_for_further_graphs():
    kept = add(1, 2).persist(scheduler=ray_dask_get, ray_persist=True)
    assert [type(value) for value in dict(kept.dask).values()] == [nbaccel.ObjectRef]
    assert add(kept, 10).compute(scheduler=ray_dask_get) == 13
    assert kept.compute(scheduler=ray_dask_get) == 3


def test_callbacks_are_called_where_they_say_and_may_stand_for_a_node(capfd):
    called = []

    class Watch(RayDaskCallback):
        def _ray_presubmit(self, task, key, deps):
            return 40 if "add" in str(key) and not deps else None

        def _ray_postsubmit_all(self, refs, graph):
            called.append(len(refs))

        def _ray_finish(self, result):
            called.append(result)

    with Watch(ray_pretask=lambda key, refs: len(refs), ray_posttask=lambda key, result, state: print("took", state)):
        assert add(add(1, 1), 2).compute(scheduler=ray_dask_get, optimize_graph=False) == 42
    assert called == [1, (42,)]
    with pytest.raises(TypeError, match="ray_finish"):
        RayDaskCallback(finish=print)

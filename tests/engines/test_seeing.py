"""What there is and what went on: metrics, lists and counts, the timeline as a file; the pools of other libraries."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import pickle
import re
import sys

import msgspec
import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import notifying
from nbaccel.handles.ids import ActorID
from nbaccel.util import as_completed, map_unordered, metrics, state
from nbaccel.util.multiprocessing import Pool, TimeoutError
from nbaccel.util.placement_group import placement_group, placement_group_table, remove_placement_group
from nbaccel.util.state.records import RayStateApiException
from nbaccel.views import tables, task_lines, wording
from nbaccel.views.history.answers import PrintedText
from nbaccel.views.observer_lines import ReadAccounting, ReadReadings, ReadRuns, ReadTaskLog
from nbaccel.views.task_filter import TaskFilter
from tests.rig import wait_until


def _lines(name):
    return [line for line in metrics.prometheus_text().splitlines() if line.startswith(name)]


# ---- metrics


@nbaccel.remote(num_cpus=0)
def count(counter, times):
    for _ in range(times):
        counter.inc(2, tags={"table": "users"})
    metrics.flush()


def test_counters_of_all_processes_are_added_up(nb):
    counter = metrics.Counter("rows_read", "Rows read so far.", tag_keys=("table",))
    before = sum(float(line.rpartition(" ")[2]) for line in _lines("rows_read"))
    counter.inc(5, tags={"table": "users"})
    nb.get([count.remote(counter, 10) for _ in range(2)])
    assert [float(line.rpartition(" ")[2]) for line in _lines('rows_read{table="users"}')] == [before + 45]
    assert "# HELP rows_read Rows read so far.\n# TYPE rows_read counter\n" in metrics.prometheus_text()
    with pytest.raises(ValueError, match=">0"):
        counter.inc(0, tags={"table": "users"})
    with pytest.raises(ValueError, match="Missing value for tag key"):
        counter.inc()


def test_a_gauge_has_its_last_value_and_a_histogram_counts_up_to_each_boundary(nb):
    gauge = metrics.Gauge("queue_length", tag_keys=("engine",)).set_default_tags({"engine": nb.engine.current().name})
    histogram = metrics.Histogram("latency_s", boundaries=[0.1, 1], tag_keys=("engine",))
    histogram.set_default_tags({"engine": nb.engine.current().name})

    @nb.remote
    class Measures:
        def measure(self, gauge, histogram):
            for value in (3, 7.5):
                gauge.set(value)
            for value in (0.05, 0.1, 0.5, 3):
                histogram.observe(value)
            metrics.flush()

    nb.get(Measures.remote().measure.remote(gauge, histogram))
    name = f'engine="{nb.engine.current().name}"'
    assert _lines(f"queue_length{{{name}") == [f"queue_length{{{name}}} 7.5"]
    counts = [line.rpartition(" ")[2] for line in _lines("latency_s_bucket{" + name)]
    assert counts == ["2", "3", "4"]
    assert _lines("latency_s_count{" + name) == [f"latency_s_count{{{name}}} 4"]


def test_a_metric_travels(nb):
    again = pickle.loads(pickle.dumps(metrics.Counter("a", "b", ("k",)).set_default_tags({"k": "v"})))
    assert again.info == {"name": "a", "description": "b", "tag_keys": ("k",), "default_tags": {"k": "v"}}


# ---- lists and counts


@nbaccel.remote
def fine():
    return 1


@nbaccel.remote
def fails():
    raise ValueError("no good")


@nbaccel.remote
class Named:
    def call(self):
        print("said by the actor")
        return os.getpid()


@pytest.fixture
def work(nb):
    """A task that went well, one that failed, an actor with a call: all have been seen, and have told their times."""
    nb.snapshot()  # Ray's tasks report from now on
    actor = Named.remote()
    refs = [fine.remote(), fails.remote(), actor.call.remote()]
    nb.wait(refs, num_returns=3)
    nb.get(refs[0])
    ids = {ref.task_id().hex() for ref in refs}

    def have_told():
        rows = [row for row in state.list_tasks() if row.state in ("FINISHED", "FAILED") and row.end_time_ms]
        made = any(row.name == "Named.__init__" and row.actor_id == actor._actor_id.hex() for row in rows)
        return made and ids <= {row.task_id for row in rows}

    wait_until(have_told)
    yield actor, refs
    nb.kill(actor)


def test_a_tasks_log_has_what_it_printed_and_the_whole_traceback(nb, work):
    _actor, (_fine, failing, call) = work
    engine = engines.current()

    def log(ref):
        return engine.history(ReadTaskLog(ref.task_id().hex()))

    failed = log(failing)
    assert failed.over
    assert failed.failure.splitlines()[-1] == "ValueError: no good"
    assert f'File "{__file__}"' in failed.failure
    said = log(call)
    if engine.name == "debug":
        assert "stands under their cells" in said.note
        return
    wait_until(lambda: "said by the actor\n" in log(call).out.text)
    told = log(call).out
    assert engine.history(ReadTaskLog(call.task_id().hex(), told.to)).out == PrintedText("", told.to)
    assert said.pid == nb.get(call)


def test_tasks_are_listed_with_their_types_and_errors(nb, work):
    actor, refs = work
    ids = {ref.task_id().hex() for ref in refs}
    listed = [row for row in state.list_tasks() if row.task_id in ids or row.actor_id == actor._actor_id.hex()]
    rows = {row.name: row for row in listed}  # tasks of other tests in this cluster may have these names
    assert (rows["fine"].state, rows["fine"].type) == ("FINISHED", "NORMAL_TASK")
    assert rows["Named.call"].type == "ACTOR_TASK"
    assert rows["Named.__init__"].type == "ACTOR_CREATION_TASK"
    assert rows["fails"]["error_type"] == "TASK_EXECUTION_EXCEPTION"
    assert "no good" in rows["fails"].error_message
    assert rows["fine"].end_time_ms >= rows["fine"].start_time_ms
    assert state.get_task(refs[0]).name == "fine"


def test_filters_choose_and_wrong_ones_are_refused(nb, work):
    failed = state.list_tasks(filters=[("name", "!=", "fine"), ("state", "=", "failed")])
    assert "fails" in {row.name for row in failed}
    assert "fine" not in {row.name for row in failed}
    assert len(state.list_tasks(limit=1)) == 1
    with pytest.raises(ValueError, match="predicate >"):
        state.list_tasks(filters=[("name", ">", "a")])
    with pytest.raises(RayStateApiException, match="colour"):
        state.list_tasks(filters=[("colour", "=", "red")])


def test_actors_workers_nodes_jobs_and_groups_are_listed(nb, work):
    actor, refs = work
    row = state.get_actor(actor._actor_id.hex())
    assert (row.class_name, row.state, row.pid) == ("Named", "ALIVE", nb.get(refs[2]))
    if nb.engine.current().name != "debug":  # which has one process, the notebook's
        assert row.pid in {worker.pid for worker in state.list_workers()}
    (node,) = state.list_nodes()
    assert (node.state, node.is_head_node) == ("ALIVE", True)
    again = state.get_node(node.node_id)
    again.resources_available = node.resources_available  # what is free may have changed
    assert again == node
    assert "RUNNING" in [job.status for job in state.list_jobs()]
    group = placement_group([{"CPU": 1}], name="listed")
    nb.get(group.ready())
    assert state.get_placement_group(group.id.hex()).state == "CREATED"
    remove_placement_group(group)
    assert state.get_actor("ff" * 16) is None


def _columns(row):
    return {name: type(value).__name__ for name, value in row.items()}


def test_nodes_groups_and_places_of_objects_have_the_columns_that_users_know(nb):
    nodes = {"NodeID": "str", "Alive": "bool", "NodeManagerAddress": "str", "NodeManagerHostname": "str"}
    nodes |= {"NodeManagerPort": "int", "ObjectManagerPort": "int", "ObjectStoreSocketName": "str"}
    nodes |= {"RayletSocketName": "str", "MetricsExportPort": "int", "NodeName": "str", "alive": "bool"}
    nodes |= {"Resources": "dict", "Labels": "dict", "DeathReasonMessage": "str"}
    table = {"placement_group_id": "str", "name": "str", "bundles": "dict", "bundles_to_node_id": "dict"}
    table |= {"strategy": "str", "state": "str", "stats": "dict"}
    if nb.engine.current().name != "ray":  # which does not tell
        table |= {"is_detached": "bool", "creator_job_id": "str"}
    places = {"node_ids": "list", "object_size": "int", "did_spill": "bool"}
    group, ref = placement_group([{"CPU": 1}], name="listed"), nb.put(b"x" * 300_000)
    nb.get(group.ready())
    row = placement_group_table(group)
    (node,) = nb.nodes()
    found = nb.experimental.get_object_locations([ref])[ref]
    assert [*_columns(found).items()] == [*places.items()]
    in_the_process = nb.engine.current().name == "debug"  # and not in a store
    assert found["node_ids"] == ([] if in_the_process else [node["NodeID"]])
    assert (row["bundles"], row["bundles_to_node_id"]) == ({0: {"CPU": 1.0}}, {0: node["NodeID"]})
    assert row["stats"]["scheduling_state"] == "FINISHED"
    assert placement_group_table()[group.id.hex()] == row
    if nb.engine.current().name != "ray":
        assert [*_columns(node).items()] == [*nodes.items()]
        assert [*_columns(row).items()] == [*table.items()]
    else:
        assert _columns(node).items() >= nodes.items()
        assert _columns(row).items() >= table.items()
    remove_placement_group(group)


def test_what_is_listed_is_counted(nb, work):
    tasks = state.summarize_tasks()["cluster"]
    assert tasks["summary"]["fine"]["state_counts"]["FINISHED"] >= 1
    assert tasks["summary_by"] == "func_name"
    assert state.summarize_actors()["cluster"]["summary"]["Named"]["state_counts"]["ALIVE"] >= 1


def test_objects_are_listed_with_their_sizes_and_places(nb):
    large, small = nb.put(b"x" * 300_000), nb.put(b"y")
    rows = {row.object_id: row for row in state.list_objects(limit=10_000)}
    assert rows[large.hex()].object_size > 300_000 > rows[small.hex()].object_size
    assert rows[large.hex()].task_status == "FINISHED" and rows[large.hex()].holders == 1
    assert rows[large.hex()].reference_type == "LOCAL_REFERENCE"
    assert (rows[large.hex()].type, rows[large.hex()].pid) == ("Driver", os.getpid())
    assert large.hex() in [row.object_id for row in state.list_objects(filters=[("type", "=", "Driver")], limit=10_000)]
    assert [row.object_id for row in state.get_objects(large.hex())] == [large.hex()]
    of_size = state.list_objects(filters=[("object_size", "=", rows[large.hex()].object_size)], limit=10_000)
    assert large.hex() in [row.object_id for row in of_size]
    assert state.summarize_objects()["cluster"]["total_objects"] >= 2


def test_the_driver_is_among_the_workers(nb):
    assert os.getpid() in [row.pid for row in state.list_workers(filters=[("worker_type", "=", "DRIVER")])]


def test_a_task_tells_what_it_has_gone_through(nb, work):
    (row,) = [row for row in state.list_tasks(detail=True, limit=10_000) if row.task_id == work[1][0].task_id().hex()]
    assert [event["state"] for event in row.events] == ["PENDING_NODE_ASSIGNMENT", "RUNNING", "FINISHED"]
    assert vars(row)["events"] == row["events"] == sorted(row.events, key=lambda event: event["created_at"])


def test_a_result_to_come_is_an_object_that_waits(nb, late):
    (row,) = state.get_objects(late.ref.hex())
    assert row.object_size is None and row.place == "pending" and row.task_status != "FINISHED"


def test_an_object_that_nobody_holds_is_not_listed(nb):
    ref = nb.put(b"x" * 300_000)
    assert state.get_objects(ref.hex())
    gone = ref.hex()
    del ref
    wait_until(lambda: gone not in [row.object_id for row in state.list_objects(limit=10_000)])


def test_runtime_environments_are_listed_where_the_engine_knows_them(nb):
    if nb.engine.current().name == "ray":
        with pytest.raises(nb.exceptions.RayError, match="include_dashboard=True"):
            state.list_runtime_envs()
    else:
        assert isinstance(state.list_runtime_envs(), list)


def test_the_timeline_is_written_to_a_file(nb, work, tmp_path):
    assert nb.timeline(str(tmp_path / "trace.json")) is None
    events = json.loads((tmp_path / "trace.json").read_text())
    (event,) = [each for each in events if each["args"].get("task_id") == work[1][0].task_id().hex()]
    assert (event["name"], event["ph"], event["args"]["state"]) == ("fine", "X", "FINISHED")
    assert event["args"]["function"] == "fine" and "cell" in event["args"]
    assert event["dur"] >= 0


# ---- results as they come


def test_results_come_when_they_are_ready(nb, late):
    assert next(as_completed([late.ref, fine.remote()])) == 1
    assert next(as_completed([late.ref, fine.remote()], yield_obj_refs=True)) != late.ref
    late.come()
    assert list(as_completed([late.ref])) == ["late"]


def test_a_function_is_mapped_over_endless_items_and_over_an_actors_method(nb):
    @nb.remote(num_cpus=0)
    def double(value):
        return 2 * value

    @nb.remote(num_cpus=0)
    class Doubler:
        def double(self, value):
            return 2 * value

    results = map_unordered(double, itertools.count(), backpressure_size=4, chunk_size=2)
    assert len({next(results) for _ in range(8)}) == 8
    assert sorted(map_unordered(Doubler.remote().double, [1, 2])) == [2, 4]
    with pytest.raises(ValueError, match="at least 1, but they are 10 and 0"):
        map_unordered(double, [1], backpressure_size=0)


# ---- pools


def _fail_on_two(value):
    if value == 2:
        raise ValueError(f"bad {value}")
    return value


def _pid(_):
    return os.getpid()


def _set_up(value):
    os.environ["POOL_SETTING"] = value


def _setting(_):
    return os.environ["POOL_SETTING"]


def test_a_pool_keeps_order_and_raises_the_first_error(nb):
    with Pool(2, initializer=_set_up, initargs=("ready",)) as pool:
        assert pool.map(abs, range(-20, 0), chunksize=3) == list(range(20, 0, -1))
        assert pool.starmap(divmod, [(7, 2), (9, 3)]) == [(3, 1), (3, 0)]
        assert set(pool.map(_setting, range(4), chunksize=1)) == {"ready"}
        results = pool.imap(_fail_on_two, range(4))
        assert [next(results), next(results)] == [0, 1]
        assert str(next(results).underlying) == "bad 2"
        assert list(results) == [3]
        with pytest.raises(ValueError, match="bad 2"):
            pool.map(_fail_on_two, range(5), chunksize=1)


def test_a_pool_says_whether_a_result_is_there(nb, late):
    ref = [late.ref]  # inside a list, so that the call begins and waits

    def wait(refs):
        return nbaccel.get(refs[0])

    with Pool(1) as pool:
        if nb.engine.current().name != "debug":  # where a call that waits ends in words: nothing goes on meanwhile
            result = pool.apply_async(wait, (ref,))
            assert not result.ready()
            with pytest.raises(TimeoutError):
                result.get(timeout=0.01)
        late.come()
        values = []
        result = pool.apply_async(wait, (ref,), callback=values.append)
        assert result.get() == "late"
        assert result.successful()
        pool.close()
        pool.join()
        assert values == ["late"]


def test_a_closed_pool_takes_no_more_and_wrong_arguments_are_refused(nb):
    pool = Pool(1)
    with pytest.raises(ValueError, match="still running"):
        pool.join()
    pool.close()
    with pytest.raises(ValueError, match="not running"):
        pool.apply(abs, (1,))
    pool.join()
    with pytest.raises(TypeError, match="initializer"):
        Pool(1, initializer=3)
    with pytest.raises(ValueError, match="at least 1"):
        Pool(0)


def test_joblib_runs_its_calls_here(nb):
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    from nbaccel.util.joblib import register_ray

    register_ray()
    with joblib.parallel_config(backend="ray", n_jobs=2):
        assert joblib.Parallel()(joblib.delayed(abs)(-value) for value in range(20)) == list(range(20))
        with pytest.raises(ValueError, match="bad 2"):
            joblib.Parallel()(joblib.delayed(_fail_on_two)(value) for value in range(5))
        pids = joblib.Parallel()(joblib.delayed(_pid)(value) for value in range(2))
        assert (os.getpid() in pids) is (nb.engine.current().name == "debug")
        assert joblib.parallel.get_active_backend()[0].effective_n_jobs(-1) == 4


# ---- many tasks


def test_tasks_that_failed_are_shown_as_failed(nb):
    @nb.remote
    def fails():
        raise ValueError("no")

    refs = [fails.options(name="fails at once").remote() for _ in range(5)]
    nb.wait(refs, num_returns=5, timeout=60)

    def states():
        return [row.state for row in nb.snapshot().tasks if row.name == "fails at once"]

    wait_until(lambda: states() == ["FAILED"] * 5)  # on Ray, a task that has told its beginning tells its end later


def test_cancelled_tasks_are_counted_apart_and_only_failed_ones_are_an_alert(nb, engine):
    def numbers():
        counts = nb.snapshot().counts
        return counts.get("CANCELLED", 0), counts.get("FAILED", 0)

    cancelled, failed = numbers()

    @nb.remote
    def fails():
        raise ValueError("no such luck")

    @nb.remote
    def never(wait_for):
        return wait_for

    blocked = never.options(name="cancelled in line", resources={"nowhere": 1}).remote(1)
    follows = never.options(name="waits for it").remote(blocked)
    nb.cancel(blocked)
    for ref in (blocked, follows):
        with pytest.raises(nb.exceptions.TaskCancelledError):
            nb.get(ref, timeout=60)
    bad = fails.options(name="bad luck").remote()
    with pytest.raises(ValueError):
        nb.get(bad)

    def shown():
        rows = {row.name: row.state for row in nb.snapshot().tasks}
        return rows if {"cancelled in line", "bad luck"} <= rows.keys() and rows["bad luck"] == "FAILED" else None

    rows = wait_until(shown)
    assert rows["cancelled in line"] == "CANCELLED"
    now_cancelled, now_failed = numbers()
    assert now_cancelled > cancelled
    if engine == "ray":  # failures of earlier tests may be reported meanwhile
        assert now_failed > failed and rows.get("waits for it", "CANCELLED") == "CANCELLED"
    else:
        assert now_failed == failed + 1
    (alert,) = [alert for alert in nb.snapshot().alerts if alert.kind == "failed"]
    assert "bad luck" in alert.message and "no such luck" in alert.message
    asked = {row.name: row for row in state.list_tasks()}
    assert (asked["cancelled in line"].state, asked["cancelled in line"].error_type) == ("FAILED", "TASK_CANCELLED")


def test_an_error_that_was_raised_here_is_the_reason_in_every_view_at_once(nb):
    ref = nb.remote(lambda: {}["missing"]).options(name="raised here").remote()
    with pytest.raises(KeyError):
        nb.get(ref)
    (row,) = [row for row in nb.snapshot().tasks if row.name == "raised here"]
    assert (row.state, row.why) == ("FAILED", "KeyError: 'missing'")


def test_a_task_whose_ref_nobody_keeps_has_its_name_and_demand(nb):
    nb.get(nb.remote(lambda: 1).options(name="unkept", num_cpus=2).remote())
    (row,) = wait_until(lambda: [row for row in nb.snapshot().tasks if row.name == "unkept"])
    assert row.demand["CPU"] == 2


def test_many_tasks_are_all_listed(nb):
    short = nb.remote(lambda: 1).options(name="one of many")
    nb.get([short.remote() for _ in range(60)])

    def listed():
        return [row for row in state.list_tasks(limit=10_000) if row.name == "one of many"]

    assert len(wait_until(lambda: rows if len(rows := listed()) >= 60 else None)) == 60


@nbaccel.remote(num_cpus=0, max_retries=0)
def counted_shard(number):
    if number == 7:
        raise ValueError("a bad shard")


def test_a_snapshot_says_how_many_tasks_a_function_has_had_whatever_they_are_called(nb, engine):
    named = counted_shard.options(name="another name") if engine != "ray" else counted_shard
    refs = [counted_shard.remote(number) for number in range(60)] + [named.remote(60)]
    nb.wait(refs, num_returns=61)  # they are kept: on Ray, short tasks before the first look may tell nothing else
    waits = counted_shard.options(resources={"nowhere": 1}).remote(61)

    def counted():
        return next((row for row in nb.snapshot().functions if row.name == "counted_shard"), None)

    row = wait_until(lambda: row if (row := counted()) is not None and row.finished >= 60 and row.failed else None)
    assert (row.finished, row.failed, row.waiting, row.total) == (60, 1, 1, 62)
    wanted = TaskFilter(function="counted_shard", by_state=True, limit=3)
    found = nb.engine.current().tasks(wanted)
    assert [task.state for task in found.rows] == ["FAILED", "PENDING_NODE_ASSIGNMENT", "FINISHED"]
    later = nb.engine.current().tasks(msgspec.structs.replace(wanted, skip=60)).rows
    assert (found.total, found.functions, len(later)) == (62, [row], 2)
    assert not {task.task_id for task in later} & {task.task_id for task in found.rows}
    nb.cancel(waits)
    wait_until(lambda: (row := counted()) is not None and (row.cancelled, row.waiting) == (1, 0))


@nbaccel.remote(resources={"nowhere": 1})
def first_in_line():
    """There is no such resource."""


@nbaccel.remote(resources={"nowhere": 1})
def behind_it():
    """Nor for this."""


def test_every_function_that_waits_has_its_line_with_its_own_number(nb):
    refs = [first_in_line.remote() for _ in range(38)] + [behind_it.remote() for _ in range(45)]
    refs += [first_in_line.options(resources={"nowhere": 2}).remote() for _ in range(3)]

    def lines():
        found = task_lines.of_snapshot(nb.snapshot())
        return {(each.name, each.many) for each in found if each.function in ("first_in_line", "behind_it")}

    behind, some = ("behind_it", "× 45 "), {("first_in_line", "some of 41 ")}
    exact = {("first_in_line", "× 38 "), ("first_in_line", "× 3 ")}  # on an engine whose snapshot has all rows
    wait_until(lambda: lines() in (some | {behind}, exact | {behind}))
    asked = {tuple(row.demand.items()) for row in nb.snapshot().tasks if row.name == "first_in_line"}
    assert len([row for row in nb.snapshot().tasks if row.name == "behind_it"]) >= 1
    assert len(asked) == 2, "each demand has its line"
    for ref in refs:
        nb.cancel(ref)
    wait_until(lambda: not lines())


# ---- filters


@nbaccel.remote(num_cpus=0, max_retries=0)
def rejects(number):
    raise ValueError(f"bad batch {number}")


def test_failures_are_in_the_snapshot_and_found_however_much_has_ended_since(nb):
    nb.wait([rejects.options(name="early").remote(0)])
    nb.snapshot()  # on Ray tasks begin to report when somebody looks
    failed = [rejects.options(name="fails").remote(number) for number in range(3)]
    nb.wait(failed, num_returns=3)
    nb.get([nb.remote(num_cpus=0)(lambda: 1).options(name="good").remote() for _ in range(120)])
    engine = nb.engine.current()
    wait_until(lambda: engine.tasks(TaskFilter(states=["finished"], text="good")).total == 120)
    failures, ids = TaskFilter(states=["failed"], text="bad batch"), {ref.task_id().hex() for ref in failed}
    wait_until(lambda: ids <= {row.task_id for row in engine.tasks(failures).rows})  # other processes tell of these
    found = engine.tasks(TaskFilter(states=["failed"], text="bad batch", limit=2))
    assert found.total >= 3 and len(found.rows) == 2
    assert all(row.name == "fails" and row.state == "FAILED" for row in found.rows)
    shown = {row.task_id for row in nb.snapshot().tasks if row.state == "FAILED"}
    assert ids <= shown
    assert engine.tasks(TaskFilter(states=["running"], text="good")) == engine.tasks(TaskFilter(text="as no row says"))


# ---- what was


@nbaccel.remote(num_gpus=0.5)
def use_half_a_gpu(number):
    return number


@nbaccel.remote(num_gpus=0.5)
def fail_on_half_a_gpu():
    raise ValueError("on purpose")


def test_the_history_counts_the_runs_of_a_function_and_what_they_held(nb):
    engine = nb.engine.current()
    before = engine.history(ReadAccounting())
    ran = 0

    def rows():
        return {row.name.rpartition(".")[2]: row for row in engine.history(ReadAccounting(before.seq)).functions}

    def are_counted():
        nonlocal ran
        nb.get([use_half_a_gpu.remote(number) for number in range(4)])  # on Ray, tasks report once they know who asks
        ran += 4
        with pytest.raises(ValueError, match="on purpose"):
            nb.get(fail_on_half_a_gpu.remote())
        used, failed = rows().get("use_half_a_gpu"), rows().get("fail_on_half_a_gpu")
        return used is not None and failed is not None and used.runs >= 4 and failed.failed >= 1

    wait_until(are_counted, "the runs to be written down")
    used = rows()["use_half_a_gpu"]
    assert used.runs <= ran
    assert used.device_seconds == pytest.approx(used.seconds / 2, abs=0.01)
    assert any("/GPU/" in row.device for row in engine.history(ReadAccounting()).devices)


def test_the_history_says_what_ran_on_which_device(nb):
    engine = nb.engine.current()

    def drawn():
        nb.get([use_half_a_gpu.remote(number) for number in range(4)])
        answer = engine.history(ReadRuns())
        kinds = {kind.index for kind in answer.kinds if kind.function.endswith("use_half_a_gpu")}
        lanes = [lane for lane in answer.ended if "/GPU/" in answer.lanes[lane.lane]]
        return sum(abs(bar[3]) if len(bar) > 3 else 1 for lane in lanes for bar in lane.bars if bar[0] in kinds)

    wait_until(lambda: drawn() >= 4, "the runs to be bars of a device's lane")
    readings = engine.history(ReadReadings())
    assert len(readings.utilisation) == readings.steps * len(readings.devices)


@nbaccel.remote(max_retries=0)
def fails_once(path, values):
    if not os.path.exists(path):
        with open(path, "w"):
            pass
        raise ValueError("not yet")
    return sum(values)


def test_a_failed_task_is_run_again_where_its_call_is_kept(nb, engine, tmp_path):
    """Ray and the debug engine keep no call: they do not offer it, and refuse it in words."""
    values = nb.put([1, 2, 3])
    ref = fails_once.remote(str(tmp_path / "tried"), values)
    with pytest.raises(ValueError, match="not yet"):
        nb.get(ref)
    del values
    id = ref.task_id().hex()

    def row():
        rows = engines.current().tasks(TaskFilter(text=id)).rows
        return rows[0] if rows and rows[0].state == "FAILED" else None

    failed = wait_until(row, "the failed task's row")
    assert failed.retryable == (engine == "local")
    if engine != "local":
        with pytest.raises(ValueError, match="cannot be run again"):
            engines.current().retry(id)
        return
    again = engines.current().retry(id)
    result = nb.ref_of(again)
    assert nb.get(result, timeout=60) == 6
    with pytest.raises(ValueError, match="not yet"):
        nb.get(ref)
    (row,) = engines.current().tasks(TaskFilter(text=again)).rows
    assert (row.retry_of, row.name) == (id, "fails_once")
    assert nb.ref_of(f"#{wording.short_id(again)}") == result
    with pytest.raises(ValueError, match="No task has the id"):
        nb.ref_of("7f3a-999999")


def test_text_that_is_no_id_is_refused_in_words(nb):
    engine = engines.current()
    uses = [
        lambda: nb.explain("no id"),
        lambda: engine.cancel_by_id("no id"),
        lambda: engine.kill_by_id("no id"),
        lambda: engine.retry("no id"),
        lambda: engine.ref_of("no id"),
        lambda: ActorID.from_hex("no id"),
    ]
    if engine.name != "debug":  # which prints where it is, and keeps no logs
        uses.append(lambda: list(state.get_log(task_id="no id")))
    for use in uses:
        with pytest.raises((ValueError, nbaccel.exceptions.RayError)) as caught:
            use()
        assert "no id" in str(caught.value) and "fromhex" not in str(caught.value)


# ---- where code stands


@nbaccel.remote(num_cpus=0, resources={"blue": 2})
def stands_here(gate):
    nbaccel.get(gate.wait.remote())


@nbaccel.remote(num_cpus=0)
class Stands:
    async def waits(self, gate):
        await gate.wait.remote()

    async def pid(self):
        return os.getpid()


@nbaccel.remote(num_cpus=0, max_concurrency=2)
class StandsInThreads:
    def waits(self, gate):
        nbaccel.get(gate.wait.remote())


class Idles:
    pass


def test_a_running_task_has_a_stack_and_one_that_waits_a_reason(nb, gate):
    running = stands_here.remote(gate)
    wait_until(lambda: nb.get(gate.arrived.remote()) == 1, "the task")
    waiting = stands_here.remote(gate)
    wait_until(lambda: "in stands_here" in nb.stack(running), "the stack")
    stack = nb.stack(running)
    assert re.match(r"\S*stands_here, pid \d+:\n  File \".*test_seeing.py\", line \d+, in stands_here", stack)
    assert repr(stack) == stack and stack.endswith("    nbaccel.get(gate.wait.remote())")  # no frame of nbaccel
    wait_until(lambda: "waits for" in nb.stack(waiting), "the reason")
    nb.get(gate.open.remote())
    nb.get([running, waiting])
    wait_until(lambda: "File" not in nb.stack(running), "no stack of what has ended")
    with pytest.raises(ValueError, match="Nothing is called 'nobody'"):
        nb.stack("nobody")


@pytest.mark.parametrize("kind", [Stands, StandsInThreads])
def test_calls_in_a_loop_or_in_threads_have_stacks(nb, gate, kind):
    actor = kind.remote()
    call = actor.waits.remote(gate)
    wait_until(lambda: nb.get(gate.arrived.remote()) == 1, "the call")
    wait_until(lambda: "in waits" in nb.stack(actor) and "in waits" in nb.stack(call), "the call's line")
    nb.get(gate.open.remote())
    nb.get(call)
    wait_until(lambda: "None of its own code runs there now." in nb.stack(actor), "an idle actor")


def test_an_actor_that_waits_is_found_by_its_class(nb):
    waits = nb.remote(Idles).options(resources={"nowhere": 1}).remote()
    wait_until(lambda: "there is no nowhere" in nb.stack("Idles"), "the reason")
    nb.kill(waits)


# ---- what has ended


def test_a_command_is_told_of_a_task_that_has_ended(nb, tmp_path):
    told = tmp_path / "told"
    program = f"import sys; open({str(told)!r}, 'a').write(sys.argv[1] + chr(10))"
    notices = notifying.EndNotices(engines.current(), [sys.executable, "-c", program], 0.0)
    try:
        nb.get(nb.remote(lambda: 1).options(name="ends").remote())
        if engines.current().name != "debug":  # where nothing is seen while other code runs
            wait_until(lambda: told.exists() and "ends has finished" in told.read_text(), "the sentence")
    finally:
        notices.end(engines.current())
    assert told.read_text().count("ends has finished after 0 s") == 1


# ---- what a process uses


@nbaccel.remote(num_cpus=0)
class Spins:
    async def spin(self, gate):
        self.held = bytearray(64 << 20)
        waits = gate.wait.remote()
        while not (await asyncio.wait([asyncio.ensure_future(_value(waits))], timeout=0.01))[0]:
            sum(range(100_000))


async def _value(ref):
    return await ref


def test_a_watched_worker_that_runs_something_has_its_load(nb, gate):
    actor = Spins.remote()
    call = actor.spin.remote(gate)
    shown = []
    engines.current().watch(shown.append, reader="load")

    def row():
        pid = next((each.pid for each in shown[-1].actors if each.class_name == "Spins"), None) if shown else None
        return next((each for each in shown[-1].workers if each.pid == pid and pid), None) if shown else None

    wait_until(lambda: (each := row()) and each.cpu_percent and each.memory_bytes > 64 << 20, "its load")
    assert re.search(r"\d+ % of a CPU, \d+ MiB", tables.load(shown[-1], row().pid))
    assert tables.load(shown[-1], 1) == ""
    engines.current().watch(None, reader="load")
    nb.get(gate.open.remote())
    nb.get(call)

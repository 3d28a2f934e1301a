"""What running code may ask about itself, groups of bundles, and snapshots, on every engine."""

from __future__ import annotations

import nbaccel
from nbaccel import engine as engines
from nbaccel.util.placement_group import placement_group_table
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy
from tests.rig import wait_until


def _facts():
    context = nbaccel.get_runtime_context()
    return {
        "task": context.get_task_id(),
        "node": context.get_node_id(),
        "worker": context.get_worker_id(),
        "job": context.get_job_id(),
        "actor": context.get_actor_id(),
        "group": context.get_placement_group_id(),
    }


@nbaccel.remote
def facts():
    return _facts()


def test_a_task_knows_who_and_where_it_is(nb):
    ref = facts.remote()
    told = nb.get(ref)
    assert told["task"] == ref.task_id().hex()
    assert told["node"] == nb.nodes()[0]["NodeID"]
    assert told["job"] == nb.get_runtime_context().get_job_id()
    assert len(told["worker"]) == 56
    assert told["actor"] is None


def test_a_driver_has_no_task(nb):
    assert nb.get_runtime_context().get_task_id() is None
    assert nb.get_runtime_context().get_actor_id() is None


def test_an_actor_knows_its_id_and_name(nb):
    @nb.remote
    class Named:
        def who(self):
            context = nbaccel.get_runtime_context()
            return context.get_actor_id(), context.get_actor_name()

    actor = Named.options(name="knows").remote()
    assert nb.get(actor.who.remote()) == (actor._actor_id.hex(), "knows")
    nb.kill(actor)


def test_nbaccel_is_initialised_inside_a_task(nb):
    @nb.remote
    def ready():
        return nbaccel.is_initialized()

    assert nb.get(ready.remote())


def test_a_group_of_bundles_is_placed_and_used(nb, grouped):
    group = grouped([{"CPU": 1}, {"CPU": 1}])
    assert nb.get(group.ready()) == group
    strategy = PlacementGroupSchedulingStrategy(group, 0)
    assert nb.get(facts.options(scheduling_strategy=strategy).remote())["group"] == group.id.hex()
    assert placement_group_table(group)["state"] == "CREATED"


def test_a_task_runs_on_the_node_that_it_names(nb):
    node_id = nb.nodes()[0]["NodeID"]
    strategy = NodeAffinitySchedulingStrategy(node_id, soft=False)
    assert nb.get(facts.options(scheduling_strategy=strategy).remote())["node"] == node_id


def test_the_snapshot_names_node_device_and_process_of_each_task(nb, gate):
    @nb.remote(num_gpus=0.5)
    def trains(gate):
        nbaccel.get(gate.wait.remote())

    ref = trains.remote(gate)
    wait_until(lambda: nb.get(gate.arrived.remote()) == 1)

    def running():
        rows = [row for row in nb.snapshot().tasks if row.task_id == ref.task_id().hex()]
        return rows[0] if rows and rows[0].pid is not None else None

    row = wait_until(running)
    assert (row.name, row.state) == ("trains", "RUNNING") or row.state.startswith("RUNNING")
    assert row.node_id == nb.nodes()[0]["NodeID"]
    (id,) = row.device_ids["GPU"]

    def device():
        (found,) = [each for each in nb.snapshot().devices if each.resource == "GPU" and each.id == id]
        return found

    assert [(holder.name, holder.amount, holder.pid) for holder in device().holders] == [("trains", 0.5, row.pid)]
    wait_until(lambda: device().free == 0.5)  # Ray says later than the task that another has given back its device
    nb.get(gate.open.remote())
    nb.get(ref)
    wait_until(lambda: all(not each.holders for each in nb.snapshot().devices))


def test_the_snapshot_shows_an_idle_actor_with_its_device(nb):
    @nb.remote(num_gpus=1)
    class Model:
        def hello(self):
            return "hello"

    model = Model.options(name="model").remote()
    nb.get(model.hello.remote())

    def shown():
        rows = [row for row in nb.snapshot().actors if row.actor_id == model._actor_id.hex()]
        return rows[0] if rows and rows[0].device_ids else None

    row = wait_until(shown)
    assert (row.class_name, row.state, row.name) == ("Model", "ALIVE", "model")
    (id,) = row.device_ids["GPU"]
    (device,) = [each for each in nb.snapshot().devices if each.resource == "GPU" and each.id == id]
    assert [holder.actor_id for holder in device.holders] == [row.actor_id]
    nb.kill(model)


def test_a_task_that_can_never_run_says_why(nb):
    @nb.remote(num_gpus=3)
    def much():
        return 1

    ref = much.remote()

    def why():
        rows = [row for row in nb.snapshot().tasks if row.task_id == ref.task_id().hex()]
        return rows[0].why if rows else None

    assert "3" in wait_until(why)
    answer = nbaccel.explain(ref) if hasattr(nbaccel, "explain") else None
    assert answer is None or answer.ever is False
    nb.cancel(ref)


def test_snapshots_are_pushed_to_a_watcher(nb, gate):
    seen = []
    engines.current().watch(seen.append, metrics=False)

    @nb.remote(num_cpus=0)
    def watched(gate):
        nbaccel.get(gate.wait.remote())

    ref = watched.remote(gate)
    try:
        wait_until(lambda: any(row.name == "watched" and row.pid for snapshot in list(seen) for row in snapshot.tasks))
    finally:
        engines.current().watch(None)
    nb.get(gate.open.remote())
    nb.get(ref)


def test_what_ran_is_on_the_timeline(nb):
    ref = facts.options(name="on the timeline").remote()
    nb.snapshot()
    nb.get(ref)
    wait_until(lambda: any(event["name"] in ("on the timeline", "facts") for event in nb.timeline()))


def test_the_timeline_has_the_phases_of_a_task(nb):
    nb.snapshot()
    ref = facts.remote()
    nb.get(ref)

    def phases():
        """Of the task, in order, when all of them are told: Ray's workers tell theirs once a second."""
        events = sorted(nb.timeline(), key=lambda event: event["ts"])
        (whole,) = [
            event
            for event in events
            if event["args"].get("task_id") == ref.task_id().hex() and event["pid"] == "workers"
        ] or [None]
        inside = [event for event in events if whole is not None and _is_inside(event, whole)]
        return inside if len(inside) == 3 else None

    found = wait_until(phases, "all three phases")
    assert [event["cat"] for event in found] == ["task:deserialize_arguments", "task:execute", "task:store_outputs"]


def _is_inside(event, whole):
    is_phase = event["cat"].startswith("task:") and not event["cat"].startswith("task::")
    ends_s = (event["ts"] + event["dur"], whole["ts"] + whole["dur"] + 1)  # what is rounded
    return is_phase and event["tid"] == whole["tid"] and event["ts"] >= whole["ts"] and ends_s[0] <= ends_s[1]

"""Actors: creation, the order of calls, restarts and ends."""

from __future__ import annotations

import pytest

from nbaccel.quantities import UNIT
from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.terms import Choice, Task, TaskKind
from tests.scheduling.world import FakeWorker, World, choice, node


def world(cpus: int = 2, gpus: int = 2) -> World:
    return World(node("head", gpus, CPU=cpus))


def alive(w: World, *choices: Choice, **options: object) -> Task:
    creation = w.actor("Counter", *choices, **options)
    w.ready()
    w.returns(creation)
    return creation


def sent_calls(w: World) -> list[bytes]:
    return [command.task.task_id for command in w.sent if command.task.kind is TaskKind.ACTOR_CALL]


def test_calls_before_the_constructor_has_returned_wait_and_then_go_in_order() -> None:
    w = world()
    creation = w.actor()
    calls = [w.call() for _ in range(3)]
    w.ready()
    assert not sent_calls(w)
    w.returns(creation)
    assert sent_calls(w) == [call.task_id for call in calls]
    assert [command.first for command in w.sent[-3:]] == [True, False, False]
    assert w.actors[b"a"] == "ALIVE"


def test_a_call_without_its_arguments_holds_back_later_calls_of_the_same_caller_only() -> None:
    w = world()
    alive(w)
    late = w.call(caller=b"d1", missing={b"x"})
    behind = w.call(caller=b"d1")
    other = w.call(caller=b"d2")
    assert sent_calls(w) == [other.task_id]
    w.notify(ev.ObjectsReady([b"x"]))
    assert sent_calls(w) == [other.task_id, late.task_id, behind.task_id]


def test_an_actor_out_of_order_takes_what_is_ready() -> None:
    w = world()
    alive(w, out_of_order=True)
    w.call(missing={b"x"})
    ready = w.call()
    assert sent_calls(w) == [ready.task_id]


def test_concurrent_calls_begin_at_once_up_to_the_limit() -> None:
    w = world()
    alive(w, max_concurrency=2)
    for _ in range(3):
        w.call()
    assert [command.first for command in w.sent[-3:]] == [True, True, False]


def test_an_actor_that_asks_nothing_holds_nothing_once_it_runs() -> None:
    w = world(1)
    creation = w.actor("A", choice(CPU=1), lasting=())
    w.ready()
    assert w.scheduler.node_available(b"head")["CPU"] == 0
    w.returns(creation)
    assert w.scheduler.node_available(b"head")["CPU"] == UNIT


def test_an_actor_starts_when_what_it_keeps_comes_back_although_every_cpu_is_busy() -> None:
    w = World(node("head", CPU=1, memory=2))
    keeps = {"lasting": (("memory", UNIT),), "job": 1}
    for number in range(2):
        alive(w, choice(CPU=1, memory=1), **{**keeps, "actor_id": b"old %d" % number})
    w.submit("busy")
    w.submit("never", choice(CPU=2))
    new = [w.actor("A", choice(CPU=1, memory=1), **{**keeps, "actor_id": b"%d" % job, "job": job}) for job in (1, 2)]
    w.ready()
    assert not any(map(w.is_sent, new))
    for number in range(2):
        w.notify(ev.ActorKillRequested(b"old %d" % number))
        w.dies(w.stopping()[0])
        w.ready()
    assert all(map(w.is_sent, new))


def test_actors_that_hold_no_cpu_start_together_on_a_busy_node() -> None:
    w = world(cpus=1)
    w.submit("busy")
    actors = [w.actor("A", choice(CPU=1), actor_id=b"%d" % n, lasting=(), missing={b"x"}) for n in range(3)]
    w.notify(ev.ObjectsReady([b"x"]))
    w.ready()
    assert all(w.is_sent(creation) for creation in actors)


def test_an_actor_keeps_its_devices_for_life() -> None:
    w = world(2, 1)
    creation = alive(w, choice(CPU=1, GPU=1), lasting=(("CPU", UNIT), ("GPU", UNIT)))
    task = w.gpu_task()
    w.ready()
    assert not w.is_sent(task)
    w.notify(ev.ActorKillRequested(b"a"))
    assert w.actors[b"a"] == "DEAD"
    assert not w.is_sent(task), "its process is not gone yet"
    w.dies(w.stopping()[0])
    w.ready()
    assert w.devices_of(task) == w.devices_of(creation) == {"GPU": [(0, UNIT)]}


def test_calls_of_a_dead_actor_fail_with_the_reason() -> None:
    w = world()
    alive(w)
    under_way = w.call()
    w.notify(ev.ActorKillRequested(b"a"))
    late = w.call()
    assert w.outcomes[under_way.task_id] == w.outcomes[late.task_id] == "actor died"
    assert "killed by nbaccel.kill" in w.messages[late.task_id]


def test_a_lost_process_without_restarts_ends_the_actor() -> None:
    w = world()
    creation = alive(w)
    call = w.call()
    w.dies(w.worker_of(call))
    assert w.actors[b"a"] == "DEAD"
    assert w.outcomes[call.task_id] == "actor died"
    assert "was killed by SIGKILL" in w.messages[call.task_id]
    assert w.outcomes[creation.task_id] == "finished"


def test_a_restart_keeps_the_devices_and_resends_what_may_be_retried() -> None:
    w = world(2, 2)
    creation = alive(w, choice(CPU=1, GPU=1), lasting=None, max_restarts=1)
    keeps, loses = w.call(retries_left=1), w.call(retries_left=0)
    waits = w.call(missing={b"x"})
    before = w.devices_of(creation)
    w.returns(keeps, retry=True, failed=True)
    w.dies(w.worker_of(loses))
    assert w.actors[b"a"] == "RESTARTING"
    assert w.outcomes.get(loses.task_id) in ("actor unavailable", None)
    w.ready()
    assert w.devices_of(creation) == before
    w.returns(creation)
    assert w.actors[b"a"] == "ALIVE"
    w.notify(ev.ObjectsReady([b"x"]))
    assert w.is_sent(waits)
    assert creation.task_id not in w.outcomes, "its arguments are needed for the next restart"


@pytest.mark.parametrize(("at_once", "returned"), [(1, 1), (3, 2)])
def test_calls_keep_their_order_when_some_had_returned_to_be_tried_again(at_once: int, returned: int) -> None:
    """They came back one by one while the actor was about to restart, and the rest with the end of its process."""
    w = World(node(CPU=2))
    creation = w.actor(max_restarts=3, max_task_retries=-1, max_concurrency=at_once)
    w.ready()
    w.returns(creation)
    calls = [w.call(name, retries_left=3) for name in "ABC"]
    worker = w.worker_of(calls[0])
    w.notify(ev.ActorKillRequested(b"a", False))
    for call in calls[:returned]:
        w.returns(call, failed=True, retry=True)
    before = len(w.sent)
    w.dies(worker)
    w.ready()
    w.returns(creation)
    assert [command.task.name for command in w.sent[before + 1 :]] == ["A", "B", "C"]


def test_calls_without_retries_fail_when_the_actor_restarts() -> None:
    w = world()
    alive(w, max_restarts=-1)
    running, behind = w.call(), w.call()
    waits = w.call(caller=b"other", missing={b"o"})
    after = w.call(caller=b"other")
    w.dies(w.worker_of(running))
    meanwhile = w.call()
    assert [w.outcomes.get(task.task_id) for task in (running, behind, after, meanwhile)] == ["actor unavailable"] * 4
    w.notify(ev.ObjectsReady([b"o"]))
    assert w.outcomes[waits.task_id] == "actor unavailable"
    w.ready()
    w.returns(w.scheduler.actor_record(b"a").task)  # type: ignore[union-attr]
    assert w.is_sent(w.call())


def test_calls_with_retries_wait_until_the_actor_has_restarted() -> None:
    w = world()
    alive(w, max_restarts=-1)
    running, behind = w.call(retries_left=1), w.call(retries_left=1)
    w.dies(w.worker_of(running))
    meanwhile = w.call(retries_left=-1)
    w.ready()
    w.returns(w.scheduler.actor_record(b"a").task)  # type: ignore[union-attr]
    assert all(w.is_sent(call) for call in (running, behind, meanwhile))


def test_an_argument_that_comes_after_the_restart_finds_the_actor() -> None:
    w = world()
    alive(w, max_restarts=-1)
    waits = w.call(missing={b"o"})
    w.dies(next(worker for worker in w.workers.values() if worker.actor == b"a"))
    w.ready()
    w.returns(w.scheduler.actor_record(b"a").task)  # type: ignore[union-attr]
    w.notify(ev.ObjectsReady([b"o"]))
    assert w.is_sent(waits)


def test_restarts_end_after_so_many() -> None:
    w = world()
    creation = alive(w, max_restarts=1)
    for state in ("RESTARTING", "DEAD"):
        worker = next(worker for worker in w.workers.values() if worker.actor == b"a")
        w.dies(worker)
        assert w.actors[b"a"] == state
        w.ready()
        if state == "RESTARTING":
            w.returns(creation)
    assert w.outcomes[creation.task_id] == "finished"


def process_of_actor(w: World) -> FakeWorker | None:
    """The process that runs the actor; one that starts is ready now."""
    w.ready()
    return next((worker for worker in w.workers.values() if worker.actor == b"a"), None)


def ends_soon(w: World, creation: Task, times: int) -> None:
    """Its process dies so often, each time as soon as it is alive."""
    for _ in range(times):
        worker = process_of_actor(w)
        assert worker is not None
        w.returns(creation)
        w.dies(worker)


def restarting_for_ever(w: World) -> Task:
    creation = w.actor("Counter", choice(CPU=1, GPU=1), lasting=None, max_restarts=-1)
    ends_soon(w, creation, 6)
    return creation


def test_an_actor_that_ends_again_and_again_pauses_before_its_restarts_longer_each_time() -> None:
    w = world()
    creation = restarting_for_ever(w)
    for pause_s in (0.1, 0.2, 0.4):
        assert w.actors[b"a"] == "RESTARTING" and process_of_actor(w) is None
        w.time_passes(pause_s * 0.9)
        assert process_of_actor(w) is None
        w.time_passes(pause_s * 0.2)
        assert process_of_actor(w) is not None
        ends_soon(w, creation, 1)
    (warning,) = w.warnings
    assert warning.task_id == creation.task_id
    assert warning.message.startswith("Counter has restarted 6 times")
    assert "was killed by SIGKILL" in warning.message and "nbaccel.kill()" in warning.message


def test_an_actor_that_pauses_holds_nothing_and_says_why_its_calls_wait() -> None:
    w = world(2, 1)
    creation = restarting_for_ever(w)
    call = w.call(retries_left=-1)
    assert "Counter, which pauses" in w.scheduler.explain(call.task_id, w.now).sentence
    assert "ended 6 times in a row" in w.scheduler.explain(creation.task_id, w.now).sentence
    task = w.gpu_task()
    w.ready()
    assert w.is_sent(task)
    w.time_passes(1.0)
    assert process_of_actor(w) is None
    worker = w.worker_of(task)
    w.returns(task)
    w.dies(worker)
    assert process_of_actor(w) is not None
    w.returns(creation)
    assert w.is_sent(call)


def test_an_actor_that_was_killed_while_it_pauses_stays_dead() -> None:
    w = world()
    creation = restarting_for_ever(w)
    w.notify(ev.ActorKillRequested(b"a", no_restart=True))
    w.time_passes(1.0)
    assert w.actors[b"a"] == "DEAD" and process_of_actor(w) is None
    assert creation.task_id in w.outcomes


@pytest.mark.parametrize("how", ["a long life", "kill"])
def test_a_restart_after_a_long_life_or_by_kill_does_not_pause(how: str) -> None:
    w = world()
    creation = w.actor(max_restarts=-1)
    ends_soon(w, creation, 5)
    worker = process_of_actor(w)
    assert worker is not None
    w.returns(creation)
    if how == "kill":
        w.notify(ev.ActorKillRequested(b"a", no_restart=False))
    else:
        w.time_passes(6.0)
    w.dies(worker)
    assert process_of_actor(w) is not None and not w.warnings


def test_kill_with_restart_starts_it_anew() -> None:
    w = world()
    creation = alive(w, max_restarts=1)
    w.notify(ev.ActorKillRequested(b"a", no_restart=False))
    assert w.actors[b"a"] == "RESTARTING"
    assert w.outcomes[w.call().task_id] == "actor unavailable"
    call = w.call(retries_left=1)
    assert not w.is_sent(call)
    w.dies(w.stopping()[0], "was killed")
    w.ready()
    w.returns(creation)
    assert w.is_sent(call)


def test_a_constructor_that_raises_ends_the_actor_and_its_calls() -> None:
    w = world()
    creation = w.actor()
    call = w.call()
    w.ready()
    w.returns(creation, failed=True)
    assert w.actors[b"a"] == "DEAD"
    assert w.outcomes[creation.task_id] == "finished"
    assert w.outcomes[call.task_id] == "actor died"
    assert "constructor of Counter raised" in w.messages[call.task_id]
    assert w.stopping()


def test_a_constructor_whose_argument_fails_ends_the_actor() -> None:
    w = world()
    creation = w.actor(missing={b"x"})
    call = w.call()
    w.notify(ev.ArgumentFailed(creation.task_id))
    assert w.actors[b"a"] == "DEAD"
    assert w.outcomes == {call.task_id: "actor died"}


def test_an_actor_out_of_scope_ends_after_its_queued_calls() -> None:
    w = world()
    alive(w)
    calls = [w.call(), w.call()]
    w.notify(ev.ActorKillRequested(b"a", graceful=True))
    assert not w.stopping()
    w.returns(calls[0])
    assert not w.stopping()
    w.returns(calls[1])
    assert w.stopping() and w.actors[b"a"] == "DEAD"
    assert set(w.outcomes.values()) == {"finished"}


def test_too_many_pending_calls_are_refused() -> None:
    w = world()
    alive(w, max_pending_calls=2)
    w.call(), w.call()
    third = w.call()
    assert w.outcomes[third.task_id] == "pending calls exceeded"


def test_a_cancelled_call_that_runs_is_only_told() -> None:
    w = world()
    alive(w)
    running, queued = w.call(), w.call(missing={b"x"})
    w.notify(ev.CancelRequested(running.task_id))
    assert [type(command) for command in w.commands] == [do.InterruptTask]
    w.time_passes(60)
    assert not w.stopping(), "an actor is never killed for one call"
    w.notify(ev.CancelRequested(queued.task_id))
    assert w.outcomes[queued.task_id] == "cancelled"
    w.returns(running)
    assert w.outcomes[running.task_id] == "finished"


def test_an_actor_gets_a_process_that_never_ran_anything() -> None:
    w = world()
    task = w.submit("f")
    w.ready()
    used = w.worker_of(task)
    w.returns(task)
    creation = w.actor()
    w.ready()
    assert w.worker_of(creation) is not used


def test_a_detached_actor_and_its_tasks_outlive_the_job() -> None:
    w = world()
    alive(w, detached=True)
    alive(w, actor_id=b"b")
    own = w.submit("of the actor", owner_worker=next(x.worker_id for x in w.workers.values() if x.actor == b"a"))
    w.notify(ev.JobEnded(1))
    assert (w.actors[b"a"], w.actors[b"b"]) == ("ALIVE", "DEAD")
    w.ready()
    assert w.is_sent(own)
    call = w.call(job=2)
    assert w.is_sent(call)


def test_an_actor_that_exits_by_itself_is_not_restarted() -> None:
    w = world()
    alive(w, max_restarts=-1)
    worker = next(worker for worker in w.workers.values() if worker.actor == b"a")
    worker.state = "stopping"
    w.dies(worker, "exited with code 0")
    assert w.actors[b"a"] == "DEAD"


def test_a_process_that_does_not_come_up_is_tried_again_without_costing_a_restart() -> None:
    w = world()
    creation = w.actor()
    starting = next(worker for worker in w.workers.values() if worker.state == "starting")
    w.dies(starting, "exited with code 1")
    w.ready()
    assert w.is_sent(creation)
    assert w.actors[b"a"] == "PENDING"


# ---- the CPU that is only asked for to be placed


def test_an_actor_that_keeps_no_cpu_starts_on_a_busy_node_and_behind_nobody() -> None:
    w = world(cpus=1)
    w.submit("f", choice(CPU=1))
    waiting = w.submit("f", choice(CPU=1), job=2)
    w.ready()
    creation = w.actor("Counter", choice(CPU=1))
    w.ready()
    w.returns(creation)
    assert w.actors[b"a"] == "ALIVE" and not w.is_sent(waiting)


def test_an_actor_that_keeps_a_cpu_waits_for_one() -> None:
    w = world(cpus=1)
    running = w.submit("f", choice(CPU=1))
    w.ready()
    creation = w.actor("Counter", choice(CPU=1), lasting=None)
    w.ready()
    assert not w.is_sent(creation)
    w.returns(running)
    w.ready()
    assert w.is_sent(creation)


def test_an_actor_goes_where_a_cpu_is_free_and_never_where_there_is_none() -> None:
    w = World(node("head", CPU=1), node("none", CPU=0), node("free", CPU=1))
    first = w.submit("f", choice(CPU=1))
    w.ready()
    assert w.node_of(first) == "head"
    placed = []
    for number in range(4):
        creation = w.actor("Counter", choice(CPU=1), actor_id=f"a{number}".encode())
        w.ready()
        placed.append(w.node_of(creation))
    assert placed[0] == "free" and "none" not in placed

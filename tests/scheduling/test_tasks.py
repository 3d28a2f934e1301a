"""Plain tasks: lines, arguments, sending ahead, blocking, crashes and retries, cancels."""

from __future__ import annotations

import pytest

from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.moves import RUNNING, IllegalEvent
from nbaccel.scheduling.tasks import KEEP_ENDED, KEEP_FAILED, KEEP_INTERNAL, MOST_FUNCTIONS, FunctionCounts
from nbaccel.scheduling.terms import Task, TaskKind, Terms, WorkerPool
from tests.scheduling.world import World, choice, node


def world(cpus: int = 2, **options: object) -> World:
    return World(node("head", 2, CPU=cpus), **options)


def test_tasks_start_in_order_of_submission() -> None:
    w = world(1)
    tasks = [w.submit(f"f{number}") for number in range(5)]
    w.ready()
    for task in tasks:
        assert w.is_sent(task)
        w.returns(task, after_s=0.01)
    assert [command.task for command in w.sent] == tasks
    assert set(w.outcomes.values()) == {"finished"}


def test_a_line_for_gpus_does_not_hold_up_a_line_for_cpus() -> None:
    w = world(8)
    for _ in range(5):
        w.gpu_task()
    plain = w.submit("plain")
    w.ready()
    assert w.is_sent(plain)


def test_a_task_waits_for_all_its_arguments() -> None:
    w = world()
    task = w.submit("f", missing={b"x", b"y"})
    w.notify(ev.ObjectsReady([b"x"]))
    w.ready()
    assert not w.is_sent(task)
    w.notify(ev.ObjectsReady([b"y"]))
    assert w.is_sent(task)


def test_a_failed_argument_drops_the_task_without_a_word() -> None:
    w = world()
    task = w.submit("f", missing={b"x"})
    assert w.notify(ev.ArgumentFailed(task.task_id)) == []
    assert w.scheduler.counts()["FAILED"] == 1


def test_a_worker_is_reused_and_the_last_used_first() -> None:
    w = world(2)
    a, b = w.submit("a"), w.submit("b")
    w.ready()
    first, second = w.worker_of(a), w.worker_of(b)
    w.returns(a), w.returns(b)
    again = w.submit("c")
    assert w.worker_of(again) is second is not first


def test_another_job_never_gets_a_used_worker() -> None:
    w = world(2)
    a = w.submit("a", job=1)
    w.ready()
    used = w.worker_of(a)
    w.returns(a)
    b = w.submit("b", job=2)
    w.ready()
    assert w.worker_of(b) is not used


def test_tasks_sent_ahead_to_a_spoiled_worker_go_back_without_spending_a_retry() -> None:
    w = world(1)
    first, *others = [w.submit("f", retries_left=0) for _ in range(6)]
    w.ready()
    spoiled = w.worker_of(first)
    w.returns(first, after_s=0.0001)
    assert spoiled.queue
    ahead = list(spoiled.queue)
    w.is_spoiled(spoiled)
    assert [command.worker_id for command in w.of(do.StopWorker)] == [spoiled.worker_id]
    w.dies(spoiled)
    w.ready()
    for task in others:
        assert w.is_sent(task)
        w.returns(task, after_s=0.01)
    assert set(w.outcomes.values()) == {"finished"} and all(task.retries_left == 0 for task in ahead)


def test_an_idle_worker_that_is_spoiled_is_given_nothing_more() -> None:
    w = world(1)
    first = w.submit("f")
    w.ready()
    spoiled = w.worker_of(first)
    w.returns(first)
    w.is_spoiled(spoiled)
    second = w.submit("f")
    w.ready()
    assert w.worker_of(second) is not spoiled


def test_only_a_worker_that_has_run_a_plain_task_can_be_spoiled() -> None:
    w = world(1)
    w.actor()
    w.ready()
    for worker in list(w.workers.values()):
        with pytest.raises(IllegalEvent):
            w.is_spoiled(worker)


def test_a_spare_takes_a_fresh_task_without_waiting_for_a_process() -> None:
    w = world()
    w.notify(ev.PrestartRequested())
    w.ready()
    task = w.gpu_task()
    assert w.is_sent(task)
    assert len(w.of(do.StartWorker)) == 1, "the spare that was taken is replaced"


@pytest.mark.parametrize("ready", [True, False])
def test_spares_of_a_zygote_that_was_replaced_are_replaced_and_get_no_work(ready: bool) -> None:
    w = world()
    w.notify(ev.PrestartRequested())
    if ready:
        w.ready()
    (old,) = w.workers.values()
    w.notify(ev.SparesOutdated())
    (stopped,) = w.of(do.StopWorker)
    assert stopped.worker_id == old.worker_id and len(w.of(do.StartWorker)) == 1
    w.ready()
    task = w.gpu_task()
    assert w.is_sent(task) and w.worker_of(task) is not old
    w.notify(ev.SparesOutdated("of a zygote that has none"))


def test_an_exec_pool_takes_no_spares() -> None:
    w = world()
    w.notify(ev.PrestartRequested())
    w.ready()
    task = w.submit("f", pool=WorkerPool(1, environment="abc", how="exec"))
    assert not w.is_sent(task)
    assert w.of(do.StartWorker)[0].pool == WorkerPool(1, environment="abc", how="exec")


# --- sending ahead -----------------------------------------------------------------------------------------------


def short_tasks(w: World, number: int = 40) -> list[Task]:
    """Submits them; the first few have run, so that the function is known to be short."""
    tasks = [w.submit("short") for _ in range(number)]
    w.ready()
    for task in tasks[:4]:
        w.returns(task, after_s=0.0001)
    return tasks


def test_short_tasks_are_sent_ahead() -> None:
    w = world(1)
    short_tasks(w)
    worker = next(worker for worker in w.workers.values() if worker.queue)
    assert 1 < len(worker.queue) <= 16


@pytest.mark.parametrize(("took_s", "most"), [(0.00002, 64), (0.0004, 40), (0.0009, 17)])
def test_as_many_are_sent_ahead_as_take_little_time_together(took_s: float, most: int) -> None:
    w = world(1)
    tasks = [w.submit("short") for _ in range(300)]
    w.ready()
    for task in tasks[:40]:
        w.returns(task, took_s=took_s)
    queues = [worker.queue for worker in w.workers.values() if worker.queue]
    assert max(map(len, queues)) == most


def test_an_answer_that_comes_late_does_not_make_a_short_task_long() -> None:
    """On a busy machine it lies in the connection for longer than the task took."""
    w = world(1)
    tasks = [w.submit("short") for _ in range(60)]
    w.ready()
    for task in tasks[:4]:
        w.returns(task, after_s=0.004, took_s=0.0001)
    assert len(w.worker_of(tasks[4]).queue) > 4


def test_long_tasks_are_not_sent_ahead() -> None:
    w = world(1)
    tasks = [w.submit("long") for _ in range(10)]
    w.ready()
    for task in tasks[:4]:
        w.returns(task, after_s=0.01)
    assert len(w.worker_of(tasks[4]).queue) == 1


def test_what_waits_behind_a_task_that_turns_out_long_is_called_back_and_runs_next() -> None:
    w = world(1)
    short_tasks(w)
    worker = next(worker for worker in w.workers.values() if worker.queue)
    running, behind = worker.queue[0], list(worker.queue[1:])
    w.time_passes(0.02)
    assert worker.recalled
    w.gives_back(worker)
    assert worker.queue == [running]
    w.returns(running)
    assert w.worker_of(behind[0]).queue[0] is behind[0]


def test_what_several_workers_give_back_runs_in_the_order_in_which_it_came() -> None:
    """A task given back last ran first. In a notebook, two that wait for earlier ones then held both CPUs for ever."""
    w = world(2)
    tasks = short_tasks(w)
    first, second = sorted(
        (worker for worker in w.workers.values() if worker.queue), key=lambda worker: tasks.index(worker.queue[0])
    )
    w.time_passes(0.02)
    assert first.recalled and second.recalled
    given = first.queue[1:] + second.queue[1:]
    w.gives_back(first)
    w.gives_back(second)
    for task in sorted(given, key=tasks.index):
        w.returns(first.queue[0], after_s=0.01)
        assert first.queue == [task]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 3, 2, 1), (3, 2, 1, 0)])
def test_every_cell_is_told_whose_task_comes_back_to_what_can_never_be_met(order: tuple[int, ...]) -> None:
    w = World(node(CPU=8))
    tasks = [w.submit("f", choice(CPU=1), choice(CPU=64), cell=f"[{number}]") for number in range(4)]
    w.ready()
    for number in order:
        w.returns(tasks[number], failed=True, fall_back="MemoryError")
    assert len([warning for warning in w.warnings if warning.message]) == 4


def test_every_cell_is_told_whose_tasks_come_back_together() -> None:
    w = World(node(CPU=1), node("n2", CPU=4, big=4))
    for number in range(4):
        w.submit("f", choice(CPU=1, big=1), cell=f"[{number}]", retries_left=3)
    w.ready()
    w.notify(ev.NodeRemoved(b"n2"))
    assert len([warning for warning in w.warnings if warning.message]) == 4


def test_a_worker_that_gives_back_its_first_task_goes_on_with_those_that_the_head_still_holds() -> None:
    w = world(1)
    short_tasks(w)
    worker = next(worker for worker in w.workers.values() if worker.queue)
    first, held = worker.queue[0], list(worker.queue[1:])
    w.time_passes(0.02)
    w.gives_back(worker, 0, 1)
    assert worker.queue == held and w.scheduler.task_record(held[0].task_id).state == RUNNING
    while worker.queue:
        w.returns(worker.queue[0])
    w.ready()
    while not w.outcomes.get(first.task_id):
        w.returns(w.worker_of(first).queue[0])


def test_a_worker_that_blocks_is_called_back_at_once() -> None:
    w = world(1)
    short_tasks(w)
    worker = next(worker for worker in w.workers.values() if worker.queue)
    w.blocks(worker.queue[0])
    assert worker.recalled


def test_nothing_is_sent_ahead_while_others_wait_for_the_same_cpu() -> None:
    w = world(1)
    for _ in range(20):
        w.submit("short")
    other = w.submit("other", choice(CPU=1), job=2)
    w.ready()
    seen = 0
    while not w.is_sent(other):
        worker = next(worker for worker in w.workers.values() if worker.queue)
        assert len(worker.queue) == 1
        w.returns(worker.queue[0], after_s=0.0001)
        w.ready()
        seen += 1
    assert seen <= 2, "jobs take turns"


def test_a_crash_costs_only_the_task_that_ran() -> None:
    w = world(1)
    short_tasks(w)
    worker = next(worker for worker in w.workers.values() if worker.queue)
    running, behind = worker.queue[0], list(worker.queue[1:])
    assert behind
    w.dies(worker)
    assert w.outcomes[running.task_id] == "worker crashed"
    assert "was killed by SIGKILL" in w.messages[running.task_id]
    w.ready()
    assert w.is_sent(behind[0])
    assert all(task.task_id not in w.outcomes for task in behind)


def test_a_task_cancelled_behind_another_never_counts_again() -> None:
    w = world(1)
    short_tasks(w)
    worker = next(worker for worker in w.workers.values() if worker.queue)
    victim = worker.queue[1]
    w.notify(ev.CancelRequested(victim.task_id))
    assert w.outcomes[victim.task_id] == "cancelled"
    w.gives_back(worker)
    w.ready()
    assert not w.is_sent(victim)


# --- blocking ----------------------------------------------------------------------------------------------------


def test_a_blocked_parent_lends_its_cpu_to_its_child() -> None:
    w = world(1)
    parent = w.submit("parent")
    w.ready()
    child = w.submit("child", parent_task_id=parent.task_id)
    w.ready()
    assert not w.is_sent(child)
    w.blocks(parent)
    w.ready()
    assert w.is_sent(child)
    w.unblocks(parent)
    assert w.scheduler.node_available(b"head")["CPU"] == 0
    after = w.submit("after")
    w.returns(child)
    w.ready()
    assert not w.is_sent(after), "the parent has taken its CPU back"
    w.returns(parent)
    w.ready()
    assert w.is_sent(after)


def test_a_blocked_parent_keeps_its_device() -> None:
    w = world(2)
    parent = w.gpu_task("parent", 2)
    w.ready()
    w.blocks(parent)
    assert w.scheduler.node_available(b"head")["GPU"] == 0


def test_nested_tasks_go_before_those_that_wait_at_the_top() -> None:
    w = world(1)
    parent = w.submit("parent")
    tops = [w.submit("parent") for _ in range(50)]
    w.ready()
    child = w.submit("parent", parent_task_id=parent.task_id)
    w.blocks(parent)
    w.ready()
    assert w.is_sent(child) and not any(w.is_sent(top) for top in tops)


def test_nesting_to_any_depth_never_locks_up() -> None:
    w = world(1)
    chain = [w.submit("f")]
    for _ in range(200):
        w.ready()
        w.blocks(chain[-1])
        chain.append(w.submit("f", parent_task_id=chain[-1].task_id))
    w.ready()
    for task in reversed(chain):
        if w.worker_of(task).blocked:
            w.unblocks(task)
        w.returns(task)
    assert len(w.outcomes) == 201


# --- crashes -----------------------------------------------------------------------------------------------------


def test_a_task_is_retried_as_often_as_it_may() -> None:
    w = world(1)
    task = w.submit("f", retries_left=2)
    for _ in range(2):
        w.ready()
        w.dies(w.worker_of(task))
        assert task.task_id not in w.outcomes
    w.ready()
    w.dies(w.worker_of(task))
    assert w.outcomes[task.task_id] == "worker crashed"
    assert "after 3 attempts" in w.messages[task.task_id]


def test_a_process_that_ends_before_it_is_ready_costs_no_retry() -> None:
    w = world(1)
    task = w.submit("f")
    starting = next(worker for worker in w.workers.values() if worker.state == "starting")
    w.dies(starting, "exited with code 1")
    w.ready()
    assert w.is_sent(task)


def test_processes_that_never_come_up_end_the_task_in_words() -> None:
    w = world(1, spares=0)
    task = w.submit("f")
    for _ in range(3):
        w.dies(next(iter(w.workers.values())), "exited with code 1")
    assert w.outcomes[task.task_id] == "worker crashed"
    assert "exited with code 1" in w.messages[task.task_id]


def test_a_retry_that_the_head_wants_goes_to_the_front() -> None:
    w = world(1)
    task, other = w.submit("f", retries_left=1), w.submit("g")
    w.ready()
    w.returns(task, after_s=0.1, failed=True, retry=True)
    assert w.is_sent(task) and not w.is_sent(other)
    assert task.retries_left == 0


# --- cancel ------------------------------------------------------------------------------------------------------


def test_a_waiting_task_is_cancelled_at_once() -> None:
    w = world(1)
    w.submit("f")
    waiting = w.submit("f")
    w.notify(ev.CancelRequested(waiting.task_id))
    assert w.outcomes[waiting.task_id] == "cancelled"


def test_a_running_task_is_interrupted_and_killed_only_past_the_grace() -> None:
    w = world(1, interrupt_grace_s=2.0)
    task = w.submit("f", retries_left=3)
    w.ready()
    w.notify(ev.CancelRequested(task.task_id))
    assert [type(command) for command in w.commands][:1] == [do.InterruptTask]
    w.time_passes(1.9)
    assert task.task_id not in w.outcomes and not w.stopping()
    w.time_passes(0.2)
    assert w.outcomes[task.task_id] == "cancelled"
    assert w.stopping()
    w.dies(w.stopping()[0])
    assert not w.is_sent(task), "a cancelled task is never retried"


def test_a_task_that_heeds_its_interrupt_keeps_its_worker() -> None:
    w = world(1)
    task = w.submit("f")
    w.ready()
    w.notify(ev.CancelRequested(task.task_id))
    w.returns(task, failed=True, loaded=True)
    w.time_passes(10)
    assert w.outcomes[task.task_id] == "finished"
    assert not w.stopping()


def test_force_kills_at_once() -> None:
    w = world(1)
    task = w.submit("f")
    w.ready()
    w.notify(ev.CancelRequested(task.task_id, force=True))
    assert w.of(do.StopWorker)[0].force
    assert w.outcomes[task.task_id] == "cancelled"


def test_cancelled_tasks_are_counted_apart_from_failed_ones() -> None:
    w = world(1)
    running, waiting, fails = w.submit("running"), w.submit("waiting"), w.submit("fails")
    needs_it = w.submit("needs it", missing={b"x"})
    w.ready()
    w.notify(ev.CancelRequested(waiting.task_id))
    w.notify(ev.CancelRequested(running.task_id))
    w.returns(running, failed=True, cancelled=True)
    w.notify(ev.ArgumentFailed(needs_it.task_id, cancelled=True))
    w.returns(fails, failed=True)
    counts = w.scheduler.counts()
    assert (counts["CANCELLED"], counts["FAILED"]) == (3, 1)


def test_a_cancelled_task_whose_own_error_came_first_has_failed() -> None:
    w = world(1)
    task = w.submit("tidies up badly")
    w.ready()
    w.notify(ev.CancelRequested(task.task_id))
    w.returns(task, failed=True)
    counts = w.scheduler.counts()
    assert (counts["CANCELLED"], counts["FAILED"]) == (0, 1)


def test_a_cancel_reaches_the_children() -> None:
    w = world(2)
    parent = w.submit("parent")
    w.ready()
    child = w.submit("child", parent_task_id=parent.task_id)
    grandchild = w.submit("grandchild", choice(CPU=9), parent_task_id=child.task_id)
    w.ready()
    w.notify(ev.CancelRequested(parent.task_id, recursive=True))
    assert w.outcomes[grandchild.task_id] == "cancelled"
    assert {command.task_id for command in w.of(do.InterruptTask)} == {parent.task_id, child.task_id}


def test_a_child_that_was_on_its_way_when_its_parent_was_cancelled_ends_with_the_parent() -> None:
    w = world(2)
    parent = w.submit("parent")
    w.ready()
    w.notify(ev.CancelRequested(parent.task_id, recursive=True))
    child = w.submit("child", choice(CPU=2), parent_task_id=parent.task_id)
    assert child.task_id not in w.outcomes, "the parent may still wait for it, to tidy up"
    w.returns(parent, failed=True)
    assert w.outcomes[child.task_id] == "cancelled"


@pytest.mark.parametrize("recursive", [True, False])
def test_a_child_that_comes_after_its_parent_was_killed_is_cancelled_with_all_or_lives(recursive: bool) -> None:
    w = world(1)
    parent = w.submit("parent")
    w.ready()
    w.notify(ev.CancelRequested(parent.task_id, force=True, recursive=recursive))
    child = w.submit("child", parent_task_id=parent.task_id)
    assert w.outcomes.get(child.task_id) == ("cancelled" if recursive else None)


def test_a_cancel_while_the_process_starts_leaves_the_process_to_others() -> None:
    w = world(1, spares=0)
    task = w.submit("f")
    w.notify(ev.CancelRequested(task.task_id))
    assert w.outcomes[task.task_id] == "cancelled"
    w.ready()
    other = w.submit("g")
    assert w.is_sent(other)


def test_a_thousand_cancelled_in_line_do_not_stop_the_line() -> None:
    w = world(1)
    first = w.submit("f")
    doomed = [w.submit("f") for _ in range(300)]
    last = w.submit("f")
    w.ready()
    for task in doomed:
        w.notify(ev.CancelRequested(task.task_id))
    w.returns(first, after_s=0.1)
    assert w.is_sent(last)


# --- many --------------------------------------------------------------------------------------------------------


def test_idle_workers_with_the_users_modules_beyond_the_number_of_cpus_are_stopped_after_a_while() -> None:
    w = world(4, idle_worker_keep=1, idle_worker_stop_s=5.0)
    tasks = [w.submit("f") for _ in range(4)]
    w.ready()
    last = w.worker_of(tasks[3])
    for task in tasks:
        w.returns(task, loaded=True)
    w.time_passes(4)
    assert not w.stopping()
    w.time_passes(2)
    assert len(w.stopping()) == 3 and last not in w.stopping()
    w.time_passes(100)
    assert len(w.stopping()) == 3


def test_idle_workers_that_have_loaded_nothing_are_all_stopped_after_a_while() -> None:
    w = world(4, idle_worker_keep=4, idle_worker_stop_s=5.0)
    tasks = [w.submit("f") for _ in range(4)]
    w.ready()
    bare = [w.worker_of(task) for task in tasks[:2]]
    w.returns(tasks[0])
    w.time_passes(3)
    for task in tasks[1:]:
        w.returns(task, loaded=task is not tasks[1])
    w.time_passes(3)
    assert w.stopping() == bare[:1]
    w.time_passes(3)
    assert w.stopping() == bare


def test_a_worker_that_has_loaded_modules_once_stays_whatever_runs_in_it_later() -> None:
    w = world(1, idle_worker_keep=1, idle_worker_stop_s=5.0)
    first = w.submit("f")
    w.ready()
    used = w.worker_of(first)
    w.returns(first, loaded=True)
    second = w.submit("g")
    assert w.worker_of(second) is used
    w.returns(second)
    w.time_passes(100)
    assert not w.stopping()


def test_idle_workers_that_stay_give_back_what_they_have_freed_once_in_a_rest() -> None:
    w = world(1, idle_worker_keep=1, idle_worker_stop_s=5.0)
    used = []
    for _ in range(2):
        task = w.submit("f")
        w.ready()
        used.append(w.worker_of(task).worker_id)
        w.returns(task, loaded=True)
        w.time_passes(4)
        assert w.trimmed == used[:-1]
        w.time_passes(100)
        assert w.trimmed == used
    assert used[0] == used[1]


def test_a_worker_that_is_stopped_for_being_idle_is_given_no_task() -> None:
    w = world(1, idle_worker_stop_s=5.0)
    first = w.submit("f")
    w.ready()
    used = w.worker_of(first)
    w.returns(first)
    w.time_passes(6)
    assert w.stopping() == [used]
    second = w.submit("f")
    w.ready()
    assert w.worker_of(second) is not used


def test_an_ended_job_takes_its_tasks_and_workers_with_it() -> None:
    w = world(1)
    running, waiting, wanting = w.submit("a"), w.submit("b"), w.submit("c", missing={b"x"})
    other = w.submit("d", job=2)
    w.ready()
    w.notify(ev.JobEnded(1))
    assert {w.outcomes[task.task_id] for task in (running, waiting, wanting)} == {"job ended"}
    counts = w.scheduler.counts()
    assert (counts["CANCELLED"], counts["FAILED"]) == (3, 0), "no fault of theirs: no alert for other notebooks"
    assert w.of(do.StopWorker)[0].force
    w.dies(w.stopping()[0])
    w.ready()
    assert w.is_sent(other)


def test_what_comes_after_the_end_of_its_job_is_not_started() -> None:
    w = world(1)
    w.notify(ev.JobEnded(1))
    task, creation = w.submit("late"), w.actor("Late")
    assert w.outcomes == {task.task_id: "job ended", creation.task_id: "job ended"}
    assert w.actors[b"a"] == "DEAD"


def test_counts_follow_the_moves() -> None:
    w = world(1)
    tasks = [w.submit("f") for _ in range(3)]
    w.submit("g", missing={b"x"})
    w.ready()
    assert w.scheduler.counts()["RUNNING"] == 1
    assert w.scheduler.counts()["PENDING_NODE_ASSIGNMENT"] == 2
    assert w.scheduler.counts()["PENDING_ARGS_AVAIL"] == 1
    w.returns(tasks[0], after_s=0.1)
    assert w.scheduler.counts()["FINISHED"] == 1


@pytest.mark.parametrize(
    "event",
    [
        ev.WorkerReady(b"?", 1),
        ev.TasksReturned(b"?", [ev.TaskReturn(b"t1")]),
        ev.TasksGivenBack(b"?", []),
        ev.WorkerDied(b"?", "ended"),
        ev.NodeRemoved(b"?"),
        ev.DeviceChanged(b"head", "GPU", 7, 0, "gone"),
    ],
)
def test_an_illegal_event_is_refused_and_changes_nothing(event: ev.Event) -> None:
    w = world(1)
    task = w.submit("f")
    w.ready()
    before = w.scheduler.counts()
    with pytest.raises(IllegalEvent) as raised:
        w.notify(event)
    assert type(event).__name__ in str(raised.value)
    assert w.scheduler.counts() == before
    w.returns(task)


def test_a_task_that_its_worker_does_not_run_cannot_return() -> None:
    w = world(2)
    a, b = w.submit("a"), w.submit("b")
    w.ready()
    with pytest.raises(IllegalEvent, match=r"It runs others or none.*BUSY at"):
        w.notify(ev.TasksReturned(w.worker_of(a).worker_id, [ev.TaskReturn(b.task_id)]))


def test_late_messages_of_dead_workers_are_ignored() -> None:
    w = world(1)
    task = w.submit("f")
    w.ready()
    worker = w.worker_of(task)
    w.dies(worker)
    assert w.notify(ev.TasksReturned(worker.worker_id, [ev.TaskReturn(task.task_id)])) == []
    assert w.notify(ev.TasksGivenBack(worker.worker_id, [])) == []


def test_failures_are_kept_when_more_than_a_thousand_others_have_ended_since() -> None:
    w = world(cpus=1)
    failed = [w.submit("fails", choice()) for _ in range(KEEP_FAILED + 1)]
    w.ready()
    for task in failed:
        w.returns(task, failed=True)
    for _ in range(KEEP_ENDED):
        task = w.submit("good", choice())
        w.returns(task)
    assert [record.task.name for record in w.scheduler.ended()].count("fails") == KEEP_FAILED
    assert w.scheduler.task_record(failed[0].task_id) is None
    shown = w.scheduler.ended_and_failed(20, 50)
    assert [record.task.name for record in shown] == ["good"] * 20 + ["fails"] * 50
    assert shown[20].task is failed[-1]


def test_a_long_run_stays_known_however_many_short_ones_end_after_it() -> None:
    w = world(1)
    long = w.submit("long")
    w.ready()
    w.returns(long, after_s=61.0)
    for _ in range(KEEP_ENDED + 1):
        w.returns(w.submit("short"), after_s=0.01)
    assert [record.task.name for record in w.scheduler.ended_and_failed(20, 5)] == ["short"] * 20 + ["long"]
    assert [record.task.name for record in w.scheduler.ended()].count("short") == KEEP_ENDED


def test_tasks_are_counted_by_function_whatever_they_are_called_and_however_many_are_forgotten() -> None:
    w = world(1)
    for number in range(KEEP_ENDED + KEEP_FAILED + 10):
        task = w.submit(f"shard {number}", method="shard")
        w.ready()
        w.returns(task, after_s=0.01)
    failed = w.submit("shard last", method="shard")
    w.returns(failed, failed=True)
    w.submit("load", method="load")
    waits = w.submit("load", method="load")
    w.notify(ev.CancelRequested(waits.task_id))
    w.submit("load", method="load")
    found = {count.function: (count, running) for count, running in w.scheduler.tasks_by_function()}
    shard, of_shard = found["shard"]
    load, of_load = found["load"]
    assert (shard.came, shard.endings, of_shard) == (
        KEEP_ENDED + KEEP_FAILED + 11,
        [KEEP_ENDED + KEEP_FAILED + 10, 1, 0],
        0,
    )
    assert (load.came, load.endings, load.unfinished, of_load) == (3, [0, 0, 1], 2, 1)


def test_the_constructor_of_an_actor_and_its_calls_are_counted_by_their_own_names() -> None:
    counts = FunctionCounts()
    made = Terms("Keeper.__init__", TaskKind.ACTOR_CREATION, choices=(choice(CPU=1),), class_name="Keeper")
    call = Terms("my call", TaskKind.ACTOR_CALL, choices=(choice(),), class_name="Keeper", method="step")
    again = Terms("another", TaskKind.ACTOR_CALL, choices=(choice(),), class_name="Keeper", method="step")
    assert counts.of(made).function == "Keeper.__init__"
    assert counts.of(call).function == "Keeper.step"
    assert counts.of(again) is counts.of(call)


def test_functions_beyond_the_thousandth_are_counted_together() -> None:
    counts = FunctionCounts()
    for number in range(MOST_FUNCTIONS):
        counts.of(Terms("f", TaskKind.TASK, choices=(choice(CPU=1),), method=f"f{number}")).came += 1
    others = [counts.of(Terms("f", TaskKind.TASK, choices=(choice(CPU=1),), method=name)) for name in ("one", "two")]
    assert others[0] is others[1] and others[0].function == ""
    assert len(list(counts)) == MOST_FUNCTIONS
    others[0].came += 1
    assert [count.came for count in counts][-1] == 1 and len(list(counts)) == MOST_FUNCTIONS + 1


# --- what nbaccel submits for itself


def test_internal_tasks_and_calls_are_in_no_count_and_no_list() -> None:
    w = world(2)
    users = w.submit("train")
    made = w.actor("Mailbox", choice(), internal=True, max_concurrency=2)
    own = w.submit("look", internal=True)
    w.ready()
    w.returns(made)
    waits = w.submit("look later", internal=True)
    calls = [w.call("Mailbox.put", internal=True) for _ in range(3)]
    assert [record.task for record in w.scheduler.running()] == [users]
    assert list(w.scheduler.waiting()) == []
    counts = {state: number for state, number in w.scheduler.counts().items() if number}
    assert counts == {"RUNNING": 1}
    w.returns(calls[0])
    w.returns(calls[1], failed=True)
    w.returns(own)
    w.notify(ev.CancelRequested(waits.task_id))
    w.returns(users)
    counts = {state: number for state, number in w.scheduler.counts().items() if number}
    assert counts == {"FINISHED": 1} and sum(w.scheduler.all_counts()) == 7
    assert [record.task for record in w.scheduler.ended()] == [users]
    assert [count.function for count, _ in w.scheduler.tasks_by_function()] == ["train"]


def test_internal_calls_push_no_users_task_out_of_the_ended_ones() -> None:
    w = world(1)
    users = w.submit("train")
    made = w.actor("Mailbox", choice(), internal=True)
    w.ready()
    w.returns(users)
    w.returns(made)
    for _ in range(KEEP_ENDED + KEEP_INTERNAL + 1):
        w.returns(w.call("Mailbox.put", internal=True))
    assert [record.task for record in w.scheduler.ended()] == [users]
    assert len(list(w.scheduler.ended_and_failed(10, 10))) == 1
    assert w.scheduler.explain(users.task_id) is not None

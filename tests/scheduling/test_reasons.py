"""Fallbacks, warnings and explanations: never waiting without a reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling import tasks
from nbaccel.scheduling.events import DeviceSpec
from nbaccel.scheduling.terms import Choice, Placement, Task
from tests.scheduling.world import HEAD, World, choice, demand, node

GIB = 1 << 30


def world(gpus: int | list[DeviceSpec] = 2, cpus: int = 8, **options: object) -> World:
    return World(node("head", gpus, CPU=cpus), **options)


def why(w: World, task: Task) -> str:
    explanation = w.scheduler.explain(task.task_id, w.now)
    assert explanation is not None
    return explanation.sentence


# --- never -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (choice(GPU=3), "this machine has 2 GPUs (A10), not 3"),
        (choice(GPU=1.5), "more than one GPU must be a whole number"),
        (choice(TPU=1), "there is no TPU on this machine"),
        (choice(CPU=64), "this machine has 8 CPUs in all, not 64 CPUs"),
        (choice(**{"GPU": 1, "accelerator_type:H100": 0.001}), "there is no accelerator of type H100"),
        (choice(gpu_memory_bytes=80 * GIB), "no GPU on this machine has 80 GiB of memory (the largest has 24 GiB)"),
        (choice(Placement(labels=(("zone", "b"),)), CPU=1), "no node has the labels zone=b"),
        (choice(shelf=1), "there is no shelf on this machine"),
    ],
)
def test_what_can_never_run_is_known_at_once_with_the_reason(asked: Choice, reason: str) -> None:
    w = world([DeviceSpec("GPU", index, type="A10", memory_bytes=24 * GIB) for index in range(2)])
    verdict = w.scheduler.feasibility(asked)
    assert not verdict.ever and reason in verdict.reason
    w.submit("f", asked)
    assert [warning.kind for warning in w.warnings] == ["infeasible"]
    assert reason in w.warnings[0].message


@pytest.mark.parametrize(
    ("has", "asked", "reason"),
    [
        (2.0, 2.4, "this machine has 2 bytes of memory in all, not 3 bytes of memory"),
        (4.0 * GIB, 4.0 * GIB + 1, "this machine has 4,294,967,296 bytes in all, not 4,294,967,297 bytes"),
    ],
)
def test_two_sizes_that_differ_never_read_the_same(has: float, asked: float, reason: str) -> None:
    w = World(node("head", 0, CPU=8, memory=has))
    assert reason in w.scheduler.feasibility(choice(memory=asked)).reason


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (choice(CPU=1, shelf=1), "there is no shelf on any of the 3 nodes"),
        (choice(CPU=1, GPU=1), "no one node has all of it: 1 CPU and 1 GPU"),
        (choice(CPU=64, GPU=1), "any of the 3 nodes has 8 CPUs in all, not 64 CPUs"),
        (choice(CPU=1, GPU=4), "any of the 3 nodes has 2 GPUs, not 4"),
    ],
)
def test_of_several_nodes_the_resource_is_named_that_none_has_enough_of(asked: Choice, reason: str) -> None:
    w = World(node("head", CPU=0), node("wide", CPU=8), node("devices", 2, CPU=0))
    assert reason in w.scheduler.feasibility(asked).reason


def test_feasibility_is_judged_for_each_device_not_by_the_sum() -> None:
    w = world([DeviceSpec("GPU", 0, amount=6000), DeviceSpec("GPU", 1, amount=6000)])
    verdict = w.scheduler.feasibility(choice(GPU=0.7))
    assert not verdict.ever
    assert verdict.reason == "no one GPU on this machine offers 0.7 (the largest offers 0.6)"


def test_one_warning_for_a_thousand_tasks_of_the_same_shape() -> None:
    w = world(0)
    for _ in range(50):
        w.gpu_task()
    assert len(w.warnings) == 1


# --- busy --------------------------------------------------------------------------------------------------------


def test_an_explanation_names_who_holds_the_rest() -> None:
    w = world(1)
    w.gpu_task("train", cell="[3] line 1")
    w.ready()
    task = w.gpu_task("infer", cell="[4] line 2")
    w.now += 12
    sentence = why(w, task)
    assert "infer (cell [4] line 2) waits for 1 CPU and 1 GPU. The GPU is busy: " in sentence
    assert sentence.endswith("busy: train on GPU 0 (cell [3] line 1, 12 s).")


@pytest.mark.parametrize(
    ("gpus", "tasks", "held"),
    [
        (2, [("train", 2)], "Both GPUs are busy: train on GPU 0 and GPU 1."),
        (2, [("train", 1), ("train", 1)], "Both GPUs are busy: train × 2 on GPU 0 and GPU 1."),
        (
            1,
            [("train", 0.5), ("train", 0.25), ("other", 0.25)],
            "The GPU is busy: other on 0.25 of GPU 0, train × 2 on 0.75 of GPU 0.",
        ),
        (64, [("train", 64)], "All 64 GPUs are busy: train on 64 GPUs."),
    ],
)
def test_each_holder_is_named_once_with_all_that_it_holds(gpus: int, tasks: list[tuple[str, float]], held: str) -> None:
    w = world(gpus, cpus=8)
    for name, quantity in tasks:
        w.gpu_task(name, quantity)
        w.ready()
    assert held in why(w, w.gpu_task("infer"))


def test_fragmentation_is_named() -> None:
    w = world(2)
    w.gpu_task("a", 0.7), w.gpu_task("b", 0.7)
    w.ready()
    w.gpu_task("c", 0.4)
    explanation = w.scheduler.explain(w.gpu_task("d", 0.6).task_id)
    assert explanation is not None and explanation.fragmented and explanation.ever and not explanation.fits_now
    assert "0.3 is free on each of 2 GPUs, but no one GPU has 0.6" in explanation.sentence


def test_a_device_leased_by_another_head_is_named() -> None:
    w = world(1)
    w.notify(ev.DeviceChanged(HEAD, "GPU", 0, 0, "held by notebook b.ipynb, pid 4711"))
    task = w.gpu_task()
    assert "GPU 0 is held by notebook b.ipynb, pid 4711" in why(w, task)


def test_every_resource_that_is_short_is_named() -> None:
    w = world(1, cpus=1)
    w.gpu_task("a")
    w.ready()
    explanation = w.scheduler.explain(w.gpu_task("b").task_id)
    assert explanation is not None and explanation.resources == ["CPU", "GPU"]


def test_waiting_for_long_is_one_line_for_each_shape_said_again_as_time_passes() -> None:
    w = world(1, cpus=1, waiting_notice_s=5.0)
    w.submit("long")
    w.ready()
    waiting = [w.submit("f") for _ in range(20)]
    w.time_passes(4.9)
    assert not w.warnings
    w.time_passes(30)
    assert {(warning.kind, warning.task_id) for warning in w.warnings} == {("waiting", waiting[0].task_id)}
    assert w.warnings[-1].message.endswith("19 more that ask the same wait too.")


def test_the_line_goes_when_the_task_starts() -> None:
    w = world(1)
    holder = w.gpu_task("train")
    w.ready()
    task = w.gpu_task("infer", cell="[4] line 1")
    w.time_passes(6)
    assert [bool(warning.message) for warning in w.warnings] == [True]
    w.returns(holder)
    w.dies(w.stopping()[0])
    assert [(warning.task_id, warning.message) for warning in w.warnings[1:]] == [(task.task_id, "")]


def test_each_cell_has_a_line_of_its_own_until_its_last_task_starts() -> None:
    w = world(1)
    holder = w.gpu_task("train")
    w.ready()
    first, second = w.gpu_task("f", cell="[4]"), w.gpu_task("f", cell="[4]")
    other = w.gpu_task("f", cell="[5]")
    w.time_passes(6)
    assert {warning.task_id for warning in w.warnings} == {first.task_id, other.task_id}
    for task in (holder, first):
        w.warnings.clear()
        w.returns(task)
        w.dies(w.stopping()[0])
        w.ready()
    assert w.is_sent(second)
    assert [(warning.task_id, warning.message) for warning in w.warnings] == [(first.task_id, "")]


def test_a_task_that_leaves_a_line_of_one_cell_looks_at_few_of_those_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []

    def counted(line: Iterable[object], most: int) -> Iterator[object]:
        for record in islice(line, most):
            looked.append(record)
            yield record

    w = world(0, cpus=1, waiting_notice_s=5.0)
    task = w.submit("f")
    w.ready()
    waiting = [w.submit("f") for _ in range(50)]
    w.time_passes(6)
    assert [warning.task_id for warning in w.warnings] == [waiting[0].task_id]
    monkeypatch.setattr(tasks, "islice", counted)
    for next_one in waiting[:10]:
        w.returns(task)
        assert w.is_sent(next_one)
        task = next_one
    assert 0 < len(looked) <= 30


def test_a_line_goes_when_its_task_is_cancelled() -> None:
    w = world(0)
    task = w.gpu_task()
    w.notify(ev.CancelRequested(task.task_id))
    assert [(warning.kind, bool(warning.message)) for warning in w.warnings] == [
        ("infeasible", True),
        ("waiting", False),
    ]


def test_the_lines_of_other_cells_stay_when_one_is_cancelled() -> None:
    w = world(0)
    w.gpu_task(cell="[3]")
    task = w.gpu_task(cell="[4]")
    w.warnings.clear()
    w.notify(ev.CancelRequested(task.task_id))
    assert [(warning.task_id, warning.message) for warning in w.warnings] == [(task.task_id, "")]


def test_a_cell_that_runs_again_is_told_again_that_it_can_never_run() -> None:
    w = world(0)
    first, again = w.gpu_task(cell="[3]"), w.gpu_task(cell="[4]")
    assert [(warning.kind, warning.task_id) for warning in w.warnings] == [
        ("infeasible", first.task_id),
        ("infeasible", again.task_id),
    ]


def test_what_can_never_run_is_refused_where_the_user_wants_it_so() -> None:
    w = world(1)
    task = w.submit("f", choice(CPU=1, GPU=2), refuse_infeasible=True)
    assert w.outcomes[task.task_id] == "unschedulable"
    sentence = "f asks for 1 CPU and 2 GPUs, but cannot be placed: this machine has 1 GPU, not 2."
    assert w.messages[task.task_id] == sentence
    creation = w.actor("A", choice(GPU=2), refuse_infeasible=True)
    assert (w.outcomes[creation.task_id], w.actors[b"a"]) == ("unschedulable", "DEAD")
    assert not w.warnings


def test_what_is_only_busy_is_not_refused() -> None:
    w = world(1)
    w.gpu_task()
    w.ready()
    task = w.gpu_task("f", refuse_infeasible=True)
    assert task.task_id not in w.outcomes


def test_a_task_that_waits_for_arguments_says_so() -> None:
    w = world()
    assert "waits for 1 argument(s)" in why(w, w.submit("f", missing={b"x"}))


def test_a_call_says_that_its_actor_waits_and_why() -> None:
    w = world(1)
    w.gpu_task("train")
    w.ready()
    w.actor("Model", choice(GPU=1))
    sentence = why(w, w.call("predict"))
    assert "waits for its actor Model, which has no GPU yet. Model waits for 1 GPU. The GPU is busy: train" in sentence


@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(st.sampled_from([0.2, 0.3, 0.5, 0.7, 1.0]), min_size=1, max_size=6),
    wanted=st.sampled_from([0.4, 0.6, 1.0, 2.0]),
)
def test_freeing_those_that_are_named_lets_the_task_start(parts: list[float], wanted: float) -> None:
    w = world(2, cpus=3)
    tasks = {task.task_id: task for task in (w.gpu_task("holder", part) for part in parts)}
    w.ready()
    held = {task_id for task_id, task in tasks.items() if w.is_sent(task)}
    for task_id in set(tasks) - held:
        w.notify(ev.CancelRequested(task_id))
    task = w.gpu_task("wanted", wanted)
    w.ready()
    if w.is_sent(task):
        return
    explanation = w.scheduler.explain(task.task_id)
    assert explanation is not None and explanation.ever
    named = {fact.task_id for fact in explanation.holders}
    assert named and named <= held
    for task_id in named:
        w.returns(tasks[task_id or b""])
        for worker in w.stopping():
            w.dies(worker)
    w.ready()
    assert w.is_sent(task)


def test_a_question_before_there_is_a_task_gets_the_same_answer() -> None:
    w = world(1)
    assert w.scheduler.explain_choice(choice(GPU=1)).sentence == "1 GPU: free now."
    w.gpu_task("train", cell="[3] line 1")
    w.ready()
    busy = w.scheduler.explain_choice(choice(GPU=1))
    assert (busy.fits_now, busy.ever) == (False, True)
    assert busy.sentence == "1 GPU: not now. The GPU is busy: train on GPU 0 (cell [3] line 1)."
    never = w.scheduler.explain_choice(choice(GPU=2))
    assert never.sentence == "A task that asks for 2 GPUs cannot start here: this machine has 1 GPU, not 2."


def test_a_placement_group_says_which_bundle_it_waits_for() -> None:
    w = world(2)
    w.gpu_task("train", 2)
    w.ready()
    w.notify(ev.GroupRequested(b"g", "mine", [demand(CPU=1), demand(GPU=1)], "PACK", 1))
    explanation = w.scheduler.explain_group(b"g")
    assert explanation is not None and explanation.ever
    assert "placement group mine waits: bundle 1 asks for 1 GPU. Both GPUs are busy: train on" in explanation.sentence
    assert "GPU 0 and GPU 1" in explanation.sentence


def test_a_task_that_will_fall_back_says_when() -> None:
    w = world(1)
    w.gpu_task()
    w.ready()
    task = w.submit("f", *OR_CPU, fallback_after_s=3.0)
    assert why(w, task).endswith("It falls back to cpu when it has waited 3 s.")


# --- fallback ----------------------------------------------------------------------------------------------------

OR_CPU = (choice(CPU=1, GPU=1), choice(CPU=2, label="cpu"))


def taken(w: World, task: Task) -> int:
    return [command.choice for command in w.sent if command.task is task][-1]


def test_a_fallback_is_taken_at_once_where_the_first_choice_can_never_be_met() -> None:
    w = world(0)
    task = w.submit("f", *OR_CPU)
    w.ready()
    assert taken(w, task) == 1
    record = w.scheduler.task_record(task.task_id)
    assert record is not None and record.choice_why == "cpu was taken, because there is no GPU on this machine"
    assert not w.warnings


def test_a_busy_first_choice_is_waited_for() -> None:
    w = world(1)
    holder = w.gpu_task()
    w.ready()
    task = w.submit("f", *OR_CPU)
    w.time_passes(60)
    assert not w.is_sent(task)
    w.returns(holder)
    w.dies(w.stopping()[0])
    w.ready()
    assert taken(w, task) == 0


def test_a_busy_first_choice_is_given_up_after_the_time_that_was_named() -> None:
    w = world(1)
    w.gpu_task()
    w.ready()
    task = w.submit("f", *OR_CPU, fallback_after_s=3.0)
    w.time_passes(2.9)
    assert not w.is_sent(task)
    w.time_passes(0.2)
    w.ready()
    assert taken(w, task) == 1
    record = w.scheduler.task_record(task.task_id)
    assert record is not None and record.choice_why.startswith("cpu was taken after 3.0 s, because the GPU is busy")


def test_fallbacks_are_tried_in_order() -> None:
    w = world(0)
    task = w.submit("f", choice(GPU=1), choice(NPU=1), choice(CPU=4, label="cpu"))
    w.ready()
    assert taken(w, task) == 2


def test_an_actor_falls_back_too_and_holds_what_it_got() -> None:
    w = world(0, cpus=4)
    creation = w.actor("A", *OR_CPU, lasting=(("CPU", UNIT), ("GPU", UNIT)))
    w.ready()
    w.returns(creation)
    assert taken(w, creation) == 1
    assert w.scheduler.node_available(HEAD)["CPU"] == 2 * UNIT


def test_an_error_that_the_fallback_answers_runs_the_next_choice() -> None:
    w = world(1)
    task = w.submit("f", *OR_CPU, max_calls=1, retries_left=0)
    w.ready()
    w.returns(task, failed=True, fall_back="OutOfMemoryError: 80 GiB")
    w.dies(w.stopping()[0])
    w.ready()
    assert taken(w, task) == 1
    record = w.scheduler.task_record(task.task_id)
    assert record is not None and record.attempt == 1
    assert record.choice_why == "cpu was taken, because the choice before raised OutOfMemoryError: 80 GiB"
    w.returns(task)
    assert w.outcomes[task.task_id] == "finished"


def test_an_actor_whose_constructor_fails_on_the_device_is_made_by_the_fallback_in_a_new_process() -> None:
    w = world(1)
    creation = w.actor("A", *OR_CPU, lasting=None)
    w.ready()
    first = w.worker_of(creation).worker_id
    w.returns(creation, failed=True, fall_back="RuntimeError: no driver")
    w.ready()
    assert taken(w, creation) == 1 and w.worker_of(creation).worker_id != first
    for worker in w.stopping():
        w.dies(worker)
    w.returns(creation)
    assert w.actors[b"a"] == "ALIVE"
    assert w.scheduler.node_available(HEAD)["GPU"] == UNIT


def test_a_worker_that_keeps_device_memory_is_retired_before_the_next_task_gets_the_device() -> None:
    w = world(1)
    task, waiting = w.gpu_task("leaky", max_calls=0, fresh=False), w.gpu_task("next", max_calls=0, fresh=False)
    w.ready()
    w.returns(task, retire="it kept 3 GiB of GPU 0")
    w.ready()
    assert w.outcomes[task.task_id] == "finished" and not w.is_sent(waiting)
    w.dies(w.stopping()[0])
    w.ready()
    assert w.is_sent(waiting)


# --- deadlock ----------------------------------------------------------------------------------------------------


def test_what_an_actor_with_a_handle_holds_is_no_deadlock_since_the_handle_can_be_dropped() -> None:
    w = world(0, cpus=1)
    creation = w.actor("Holder", choice(CPU=1), lasting=None, cell="[2] line 1")
    w.ready()
    w.returns(creation)
    task = w.submit("f")
    explanation = w.scheduler.explain(task.task_id)
    assert explanation is not None
    assert explanation.kept and not explanation.deadlock
    assert explanation.sentence.endswith(
        "The CPU is busy: actor Holder with 1 CPU (cell [2] line 1). An actor keeps it until its last handle is "
        "dropped (del) or nbaccel.kill() ends it. End one of these, add CPUs, or ask for num_cpus=0 "
        "where the work is done by a device or only waits."
    )
    w.time_passes(20)
    assert {warning.kind for warning in w.warnings} == {"kept"}
    assert "actor Holder with 1 CPU (cell [2] line 1" in w.warnings[0].message
    assert "until its last handle is dropped" in w.warnings[0].message


def test_a_detached_actor_is_said_to_end_only_when_it_is_killed() -> None:
    w = world(0, cpus=1)
    creation = w.actor("Holder", choice(CPU=1), lasting=None, detached=True)
    w.ready()
    w.returns(creation)
    explanation = w.scheduler.explain(w.submit("f").task_id)
    assert explanation is not None
    assert "A detached actor keeps it until nbaccel.kill() ends it. End one" in explanation.sentence


def test_a_parent_that_holds_the_device_its_child_waits_for_is_told_as_a_deadlock() -> None:
    w = world(1)
    parent = w.gpu_task("parent")
    w.ready()
    child = w.gpu_task("child", parent_task_id=parent.task_id)
    explanation = w.scheduler.explain(child.task_id)
    assert explanation is not None
    assert not explanation.deadlock
    w.blocks(parent)
    explanation = w.scheduler.explain(child.task_id)
    assert explanation is not None
    assert explanation.deadlock
    w.time_passes(6)
    assert {warning.kind for warning in w.warnings} == {"deadlock"}
    assert "parent on GPU 0 (" in w.warnings[0].message


def test_work_that_goes_on_is_no_deadlock() -> None:
    w = world(1)
    parent = w.gpu_task("parent")
    w.ready()
    w.submit("works", parent_task_id=parent.task_id)
    w.blocks(parent)
    w.ready()
    waits = w.gpu_task("waits")
    explanation = w.scheduler.explain(waits.task_id)
    assert explanation is not None
    assert not explanation.deadlock
    w.time_passes(6)
    assert {warning.kind for warning in w.warnings} == {"waiting"}


def test_a_collection_of_garbage_is_asked_for_while_actors_hold_what_is_waited_for() -> None:
    world = World(node("head", gpus=1, CPU=4))
    world.actor("Holder", choice(GPU=1))
    world.ready()
    world.gpu_task()
    world.time_passes(0.4)
    assert world.collections == 0
    world.time_passes(0.2)
    assert world.collections == 1
    world.time_passes(10.0)
    assert world.collections == 5  # after 0.5, 1, 2, 4 and 8 s


def test_tasks_that_hold_what_is_waited_for_end_by_themselves() -> None:
    world = World(node("head", gpus=1, CPU=4))
    world.gpu_task()
    world.ready()
    world.gpu_task()
    world.time_passes(10.0)
    assert world.collections == 0


def test_a_misspelt_type_names_the_one_that_is_here() -> None:
    w = World(node(gpus=[DeviceSpec("GPU", 0, type="A100")], CPU=4))
    w.submit("f", choice(GPU=1, **{"accelerator_type:A10O": 0.001}))
    assert "(there is A100: did you mean A100?)" in w.warnings[0].message


@pytest.mark.parametrize(("typed", "hint"), [("A10O", " (did you mean A100?)"), ("H100", "")])
def test_a_misspelt_type_is_seen_where_there_is_none(typed: str, hint: str) -> None:
    w = World(node(gpus=2, CPU=4))
    w.submit("f", choice(GPU=1, **{f"accelerator_type:{typed}": 0.001}))
    assert f"there is no accelerator of type {typed} on this machine{hint}. It waits" in w.warnings[0].message

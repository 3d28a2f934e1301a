"""A device that is gone: what can only run there fails in words, everything else goes on."""

from __future__ import annotations

from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.events import DeviceSpec
from nbaccel.scheduling.terms import Task
from tests.scheduling.world import HEAD, World, choice, node

REASON = "lost: the GPU has fallen off the bus (Xid 79)."


def world(gpus: int = 1) -> World:
    specs = [DeviceSpec("GPU", index, type="A100", label=f"GPU {index} (A100)") for index in range(gpus)]
    return World(node("head", specs, CPU=8))


def lose(w: World, index: int = 0, lost: bool = True) -> None:
    w.notify(ev.DeviceChanged(HEAD, "GPU", index, 0 if lost else UNIT, REASON if lost else "", lost))


def indexes(w: World, task: Task) -> list[int]:
    return [index for index, _ in w.devices_of(task)["GPU"]]


def test_the_next_task_fails_with_the_reason_when_no_other_device_would_do() -> None:
    w = world()
    lose(w)
    task = w.gpu_task()
    assert w.outcomes[task.task_id] == "unschedulable"
    assert "GPU 0 (A100) is lost: the GPU has fallen off the bus (Xid 79)." in w.messages[task.task_id]


def test_those_that_wait_for_it_fail_at_once() -> None:
    w = world()
    holder, waits = w.gpu_task("holder"), w.gpu_task("waits")
    w.ready()
    lose(w)
    assert waits.task_id in w.outcomes
    assert holder.task_id not in w.outcomes


def test_its_holder_goes_on_and_gives_back_what_nobody_gets() -> None:
    w = world(2)
    holder = w.gpu_task("holder")
    w.ready()
    lose(w)
    w.returns(holder)
    w.dies(w.stopping()[0])
    assert w.outcomes[holder.task_id] == "finished"
    assert w.scheduler.node_totals(HEAD)["GPU"] == UNIT == w.scheduler.node_available(HEAD)["GPU"]


def test_the_other_devices_are_given_out_as_before() -> None:
    w = world(2)
    lose(w)
    whole, pair = w.gpu_task("whole"), w.gpu_task("pair", 2)
    w.ready()
    assert indexes(w, whole) == [1]
    assert pair.task_id in w.outcomes


def test_a_fallback_is_taken_at_once() -> None:
    w = world()
    lose(w)
    task = w.submit("train", choice(CPU=1, GPU=1), choice(CPU=1, label="cpu"))
    w.ready()
    assert w.is_sent(task) and not w.devices_of(task)


def test_what_could_never_have_run_here_waits_as_before() -> None:
    w = world()
    lose(w)
    task = w.gpu_task("much", 4)
    assert task.task_id not in w.outcomes
    assert [warning.kind for warning in w.warnings] == ["infeasible"]


def test_an_actor_fails_too_and_says_why() -> None:
    w = world()
    lose(w)
    w.actor("Model", choice(GPU=1))
    assert w.actors[b"a"] == "DEAD"


def test_a_device_that_is_back_is_given_out_again() -> None:
    w = world()
    lose(w)
    lose(w, lost=False)
    task = w.gpu_task()
    w.ready()
    assert indexes(w, task) == [0]


def test_a_question_names_the_loss() -> None:
    w = world()
    lose(w)
    assert "GPU 0 (A100) is lost" in w.scheduler.feasibility(choice(GPU=1)).reason

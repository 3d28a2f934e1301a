"""Which devices a demand gets, and when they come back."""

from __future__ import annotations

import pytest

from nbaccel.quantities import UNIT
from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.events import DeviceSpec
from nbaccel.scheduling.terms import Task
from tests.scheduling.world import HEAD, World, choice, node

GIB = 1 << 30


def world(gpus: int | list[DeviceSpec] = 2, cpus: int = 8) -> World:
    return World(node("head", gpus, CPU=cpus))


def indexes(world: World, task: Task) -> list[int]:
    return [index for index, _ in world.devices_of(task)["GPU"]]


def test_whole_devices_are_given_lowest_number_first() -> None:
    w = world(4)
    first, second = w.gpu_task(), w.gpu_task("two", 2)
    w.ready()
    assert indexes(w, first) == [0]
    assert indexes(w, second) == [1, 2]


def test_fractions_fill_a_device_before_they_open_the_next() -> None:
    w = world(3)
    tasks = [w.gpu_task("half", 0.5) for _ in range(6)]
    w.ready()
    assert [indexes(w, task)[0] for task in tasks] == [0, 0, 1, 1, 2, 2]


def test_a_fraction_goes_to_the_fullest_device_that_still_holds_it() -> None:
    w = world(2)
    w.gpu_task("a", 0.3), w.gpu_task("b", 0.8)
    small, smaller = w.gpu_task("c", 0.2), w.gpu_task("d", 0.2)
    w.ready()
    assert indexes(w, small) == [1]
    assert indexes(w, smaller) == [0]


def test_a_fraction_never_spans_two_devices() -> None:
    w = world(2)
    w.gpu_task("a", 0.6), w.gpu_task("b", 0.6)
    third = w.gpu_task("c", 0.7)
    w.ready()
    assert not w.is_sent(third)


def test_a_device_in_part_use_is_not_given_as_a_whole() -> None:
    w = world(1)
    w.gpu_task("a", 0.1)
    whole = w.gpu_task("b", 1)
    w.ready()
    assert not w.is_sent(whole)


def test_two_devices_are_never_taken_from_partitions() -> None:
    w = world([DeviceSpec("GPU", index, is_partition=True) for index in range(3)])
    pair = w.gpu_task("pair", 2)
    single = w.gpu_task("single", 1)
    w.ready()
    assert not w.is_sent(pair) and w.is_sent(single)
    assert "MIG" in w.scheduler.feasibility(choice(GPU=2)).reason


def test_a_device_of_which_only_a_part_is_offered_holds_no_whole_demand() -> None:
    w = world([DeviceSpec("GPU", 0, amount=5000)])
    whole, half = w.gpu_task("whole", 1), w.gpu_task("half", 0.5)
    w.ready()
    assert not w.is_sent(whole) and w.is_sent(half)


def test_an_accelerator_type_chooses_among_mixed_devices() -> None:
    spec = node("head", [DeviceSpec("GPU", 0, type="T4"), DeviceSpec("GPU", 1, type="A100")], CPU=4)
    spec.totals |= {"accelerator_type:T4": UNIT, "accelerator_type:A100": UNIT}
    w = World(spec)
    wants = choice(CPU=1, GPU=1, **{"accelerator_type:A100": 0.001})
    first, second = w.submit("first", wants), w.submit("second", wants)
    w.ready()
    assert indexes(w, first) == [1]
    assert not w.is_sent(second)


def test_gpu_memory_books_the_share_of_the_device_that_it_is() -> None:
    w = world([DeviceSpec("GPU", 0, memory_bytes=16 * GIB), DeviceSpec("GPU", 1, memory_bytes=80 * GIB)])
    large = w.submit("large", choice(CPU=1, gpu_memory_bytes=40 * GIB))
    small = w.submit("small", choice(CPU=1, gpu_memory_bytes=4 * GIB))
    again = w.submit("again", choice(CPU=1, gpu_memory_bytes=48 * GIB))
    w.ready()
    assert w.devices_of(large) == {"GPU": [(1, 5000)]}
    assert w.devices_of(small) == {"GPU": [(1, 500)]}
    assert not w.is_sent(again)


def test_a_device_with_too_little_memory_is_never_taken() -> None:
    w = world([DeviceSpec("GPU", 0, memory_bytes=16 * GIB)])
    assert not w.scheduler.feasibility(choice(gpu_memory_bytes=24 * GIB)).ever


def test_a_device_comes_back_only_when_its_process_is_gone_but_the_cpu_at_once() -> None:
    w = world(1, cpus=1)
    first, second, third = w.gpu_task("first"), w.gpu_task("second"), w.submit("cpu only")
    w.ready()
    w.returns(first)
    assert [command.worker_id for command in w.of(do.StopWorker)] == [w.stopping()[0].worker_id]
    w.ready()
    assert w.is_sent(third) and not w.is_sent(second)
    w.returns(third)
    w.dies(w.stopping()[0], "ended")
    assert w.of(do.ReleaseDevices)[0].devices == {"GPU": [(0, UNIT)]}
    w.ready()
    assert indexes(w, second) == [0]


def test_a_worker_that_may_be_reused_gives_its_device_back_at_once() -> None:
    w = world(1)
    first = w.gpu_task("first", fresh=False, max_calls=0)
    second = w.gpu_task("second", fresh=False, max_calls=0)
    w.ready()
    w.returns(first, after_s=0.1)
    assert w.of(do.ReleaseDevices) and not w.of(do.StopWorker)
    assert w.is_sent(second)


def test_a_process_that_has_seen_one_device_is_not_reused_for_another() -> None:
    w = world(2)
    first = w.gpu_task("first", fresh=False, max_calls=0)
    w.ready()
    used = w.worker_of(first)
    w.returns(first)
    holder = w.gpu_task("holder")
    other = w.gpu_task("other", fresh=False, max_calls=0)
    plain = w.submit("cpu only")
    w.ready()
    assert (indexes(w, holder), indexes(w, other)) == ([0], [1])
    assert used not in (w.worker_of(other), w.worker_of(plain))


def test_a_function_with_max_calls_keeps_its_worker_for_so_many_calls() -> None:
    w = world(1)
    tasks = [w.gpu_task("f", fresh=False, max_calls=2) for _ in range(3)]
    w.ready()
    w.returns(tasks[0], after_s=0.1)
    assert not w.of(do.StopWorker) and w.is_sent(tasks[1])
    w.returns(tasks[1], after_s=0.1)
    assert w.of(do.StopWorker) and not w.is_sent(tasks[2])


def test_a_refused_lease_puts_the_task_on_another_device() -> None:
    w = world(2)
    task = w.gpu_task()
    w.ready()
    worker = w.worker_of(task)
    worker.queue.clear()
    worker.devices.clear()
    w.notify(ev.AssignmentRefused(task.task_id, "GPU", 0, 0, "notebook b.ipynb, pid 4711"))
    assert indexes(w, task) == [1]
    assert not w.of(do.ReleaseDevices)


def test_a_refused_lease_waits_until_the_other_head_gives_it_back() -> None:
    w = world(1)
    task = w.gpu_task()
    w.ready()
    worker = w.worker_of(task)
    worker.queue.clear()
    worker.devices.clear()
    w.notify(ev.AssignmentRefused(task.task_id, "GPU", 0, 0, "notebook b.ipynb, pid 4711"))
    assert not w.is_sent(task)
    explanation = w.scheduler.explain(task.task_id)
    assert explanation is not None and "held by notebook b.ipynb, pid 4711" in explanation.sentence
    w.notify(ev.DeviceChanged(HEAD, "GPU", 0, UNIT, ""))
    assert indexes(w, task) == [0]


@pytest.mark.parametrize(("free", "starts"), [(0, False), (4000, False), (6000, True), (UNIT, True)])
def test_what_other_heads_leave_of_a_device_is_what_may_be_taken(free: int, starts: bool) -> None:
    w = world(1)
    w.notify(ev.DeviceChanged(HEAD, "GPU", 0, free, "held by another"))
    task = w.gpu_task("part", 0.6)
    w.ready()
    assert w.is_sent(task) == starts


def test_a_new_family_of_devices_is_counted_device_by_device() -> None:
    w = World(node("head", [DeviceSpec("FPGA", 0), DeviceSpec("FPGA", 1)], CPU=4))
    assert not w.scheduler.feasibility(choice(FPGA=1.5)).ever
    task = w.submit("f", choice(CPU=1, FPGA=2))
    w.ready()
    assert w.devices_of(task) == {"FPGA": [(0, UNIT), (1, UNIT)]}


def test_holders_and_free_amounts_are_told_for_each_device() -> None:
    w = world(2)
    a, b = w.gpu_task("a", 0.25), w.gpu_task("b", 1)
    w.ready()
    rows = w.scheduler.device_holders(HEAD)
    assert [(row.index, row.held_by.task.name, row.amount) for row in rows] == [(0, "a", 2500), (1, "b", UNIT)]
    assert w.scheduler.node_available(HEAD) == {"CPU": 6 * UNIT, "GPU": 7500}
    assert w.scheduler.node_totals(HEAD) == {"CPU": 8 * UNIT, "GPU": 2 * UNIT}
    assert w.is_sent(a) and w.is_sent(b)

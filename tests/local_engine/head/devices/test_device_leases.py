"""Devices that another head holds: the scheduler is told, and told again when they come free."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from nbaccel.leases import Leases
from nbaccel.local_engine.head.devices.task_devices import LOOK_AGAIN_S
from nbaccel.quantities import UNIT
from nbaccel.scheduling.events import AssignmentRefused, DeviceChanged
from tests.local_engine.head.devices.conftest import Place


def send(place: Place, worker_id: bytes, *slots: tuple[int, int]) -> Any:
    """An order to send a task with these slots of GPUs."""
    task = SimpleNamespace(task_id=b"t" * 24)
    return SimpleNamespace(
        worker_id=worker_id, task=task, node_id=place.nodes.node_id, devices={"GPU": list(slots)} if slots else {}
    )


def test_a_device_that_nobody_holds_is_leased(place: Place, other_head: Leases) -> None:
    first, _second = place.have_two_real()
    assert place.room.device_leases.take(send(place, b"w", (0, UNIT)))
    assert place.taken() == []
    assert other_head.take(first.lease_key, 1) is not None
    place.room.device_leases.release(b"w")
    assert other_head.take(first.lease_key, 1) is None


def test_a_device_that_another_head_holds_is_refused_with_its_name(place: Place, other_head: Leases) -> None:
    first, second = place.have_two_real()
    other_head.take(second.lease_key, UNIT // 4)
    assert not place.room.device_leases.take(send(place, b"w", (0, UNIT), (1, UNIT)))
    (event,) = place.taken()
    assert type(event) is AssignmentRefused
    assert (event.task_id, event.index, event.free) == (b"t" * 24, 1, UNIT * 3 // 4)
    assert "notebook b.ipynb" in event.holder
    assert other_head.take(first.lease_key, UNIT) is None  # what was leased before is given back


def test_a_refused_device_is_looked_at_until_it_is_ours(place: Place, other_head: Leases) -> None:
    _first, second = place.have_two_real()
    other_head.take(second.lease_key, UNIT)
    place.room.device_leases.take(send(place, b"w", (1, UNIT)))
    place.taken()
    place.clock.jump(LOOK_AGAIN_S)
    (busy,) = place.taken()
    assert (busy.free, "notebook b.ipynb" in busy.reason) == (0, True)
    other_head.release(second.lease_key, UNIT)
    place.clock.jump(LOOK_AGAIN_S)
    assert place.taken() == [DeviceChanged(place.nodes.node_id, "GPU", 1, UNIT, "")]
    place.clock.jump(10 * LOOK_AGAIN_S)
    assert place.taken() == []


def test_what_others_hold_when_a_node_joins_is_told(place: Place, other_head: Leases) -> None:
    first, _second = place.have_two_real()
    other_head.take(first.lease_key, UNIT)
    place.room.look_at_leases()
    (event,) = place.taken()
    assert (event.index, event.free) == (0, 0)


def test_a_lost_device_is_not_offered_whoever_holds_it(place: Place) -> None:
    first, _second = place.have_two_real()
    place.room.watch.lost[first.lease_key] = "it fell off the bus"
    place.room.offer((place.nodes.node_id, "GPU", 0))
    assert place.taken() == [DeviceChanged(place.nodes.node_id, "GPU", 0, 0, "lost: it fell off the bus", True)]

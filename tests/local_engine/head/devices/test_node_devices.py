"""How the head's node is found out: by the prober, without it, and when it hangs or dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbaccel import accelerators
from nbaccel.local_engine.head.devices import node_devices
from nbaccel.local_engine.head.devices.node_devices import GRACE_S, MOST_DEATHS
from nbaccel.local_engine.side_processes import prober
from nbaccel.quantities import UNIT
from nbaccel.scheduling.events import NodeAdded, PrestartRequested
from tests.local_engine.head.devices.conftest import Place


@pytest.fixture
def signs(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine looks as if it had an accelerator."""
    monkeypatch.setattr(node_devices.accelerators, "evidence", lambda machine: ["/dev/nvidia0"])


def test_a_simulated_machine_is_known_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBACCEL_LEASE_DIR", str(tmp_path))
    place = Place(simulate="nvidia:2xH100", resources={"disk": 3})
    place.room.setup.begin()
    added, prestart = place.taken()
    assert type(added) is NodeAdded and type(prestart) is PrestartRequested
    assert (added.node.totals["CPU"], added.node.totals["disk"]) == (2 * UNIT, 3 * UNIT)
    assert [(device.resource, device.index) for device in added.node.devices] == [("GPU", 0), ("GPU", 1)]
    assert place.is_known and place.asked() == []


def test_options_that_cannot_be_met_refuse_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBACCEL_LEASE_DIR", str(tmp_path))
    place = Place(simulate="2 of something")
    place.room.setup.begin()
    assert len(place.refused) == 1 and not place.is_known and place.taken() == []


@pytest.mark.usefixtures("signs")
def test_a_machine_with_signs_of_hardware_waits_for_the_prober(place: Place) -> None:
    place.room.setup.begin()
    (order,) = place.asked()
    assert type(order) is prober.Detect and not place.is_known
    found = accelerators.detect(accelerators.RealMachine(), simulate="nvidia:2xH100")
    place.answer(prober.Found(found.to_json()))
    assert place.is_known and len(place.nodes.devices[place.nodes.node_id].devices["GPU"]) == 2
    place.clock.jump(100.0)
    assert place.notes == []  # nobody is late


@pytest.mark.usefixtures("signs")
def test_a_prober_that_hangs_does_not_hold_up_the_node(place: Place) -> None:
    place.room.setup.begin()
    (order,) = place.asked()
    place.clock.jump(order.deadline_s + GRACE_S)
    assert place.is_known and "has not answered" in place.notes[0] and place.warned


@pytest.mark.usefixtures("signs")
def test_a_machine_that_stands_still_uses_up_none_of_the_probers_time(place: Place) -> None:
    place.room.setup.begin()
    place.asked()
    place.clock.stand_still(3600.0)
    assert not place.is_known
    late = accelerators.unknown_detection("nvmlInit has not answered for 10 s")
    place.answer(prober.Found(late.to_json()))
    assert place.is_known and "nvmlInit has not answered" in place.warned[0]


@pytest.mark.usefixtures("signs")
def test_a_prober_that_dies_again_and_again_does_not_hold_up_the_node(place: Place) -> None:
    place.room.setup.begin()
    for _ in range(MOST_DEATHS):
        assert not place.is_known
        place.prober_dies()
    assert place.is_known and f"has died {MOST_DEATHS} times" in place.notes[0]


@pytest.mark.usefixtures("signs")
def test_an_error_of_the_prober_refuses_the_start(place: Place) -> None:
    place.room.setup.begin()
    place.answer(prober.Found("", "there is no vendor 'amdd'"))
    assert place.refused == ["there is no vendor 'amdd'"] and not place.is_known

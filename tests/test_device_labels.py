"""What devices are called: a MIG instance by its card and its place on it, never by its UUID."""

from __future__ import annotations

from nbaccel.views import tables
from nbaccel.views.snapshot import DeviceRow, Snapshot


def _device(id: str, parent: str | None = None, profile: str | None = None) -> DeviceRow:
    return DeviceRow("n1", "GPU", 0, id, "nvidia", "NVIDIA GPU", "real", parent=parent, profile=profile)


def test_instances_are_numbered_on_their_card() -> None:
    rows = [_device(f"MIG-{number}", "GPU-aaaa", "1g.5gb") for number in range(3)] + [
        _device("MIG-9", "GPU-bbbb", "2g.10gb")
    ]
    assert list(tables.labels_of_devices(rows).values()) == [
        "GPU 0 · MIG 0 (1g.5gb)", "GPU 0 · MIG 1 (1g.5gb)", "GPU 0 · MIG 2 (1g.5gb)", "GPU 1 · MIG 0 (2g.10gb)",
    ]  # fmt: skip


def test_a_card_with_instances_is_not_numbered_as_a_whole_one() -> None:
    rows = [_device("0"), _device("MIG-1", "GPU-aaaa", "1g.5gb")]
    assert list(tables.labels_of_devices(rows).values()) == ["GPU 0", "GPU 1 · MIG 0 (1g.5gb)"]


def test_a_task_names_its_instance_as_the_devices_do() -> None:
    named = tables.labels_of_devices([_device("MIG-1", "GPU-aaaa", "1g.5gb"), _device("1")])
    assert tables.devices_of_task({"GPU": ["MIG-1"]}, "n1", named) == "GPU 0 · MIG 0 (1g.5gb)"
    assert tables.devices_of_task({"GPU": ["1", "2"]}, "n1", named) == "GPU 1, 2"


def test_seven_instances_have_seven_labels_in_the_table(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices = [
        _device(f"MIG-{number}-7c9e6679-7425-40de-944b-e07fc1f90ae7", "GPU-a", "1g.5gb") for number in range(7)
    ]
    assert len({row[0] for row in tables.devices(busy_snapshot).rows}) == 7

"""A snapshot of a large cluster has some rows, and counts that are of all."""

from __future__ import annotations

import io

import msgspec
import pytest

from nbaccel.notebook import card, publishing, static_tables, view
from nbaccel.views import node_tables, tables, top, totals
from nbaccel.views.snapshot import DeviceRow, Holder, NodeRow, Runtime, Snapshot, WorkerRow


def _device(node: int, index: int, **about: object) -> DeviceRow:
    row = DeviceRow(f"{node:056x}", "GPU", index, str(index), "nvidia", "NVIDIA GPU", "real", "H100", "NVIDIA H100")
    for name, value in about.items():
        setattr(row, name, value)
    return row


def _cluster(nodes: int, devices: int = 8, busy: tuple[int, ...] = (), taken: tuple[int, ...] = ()) -> Snapshot:
    """Nodes of so many devices; all devices of `busy` ones are half held, the first of `taken` ones is another's."""
    snapshot = Snapshot(Runtime("local", "0.1.0", "3.11.7", pid=28217), 812, 1_795_176_964.0)
    for number in range(nodes):
        left = {"CPU": 60.0 if number in busy else 64.0, "GPU": devices / 2 if number in busy else float(devices)}
        snapshot.nodes.append(
            NodeRow(f"{number:056x}", f"node-{number}", True, number == 0, {"CPU": 64.0, "GPU": float(devices)}, left)
        )
        for index in range(devices):
            row = _device(number, index)
            if number in busy:
                row.free, row.holders = 0.5, [Holder("train", 0.5, f"{number:048x}", pid=4711, cell="[3] line 8")]
            elif number in taken and not index:
                row.free, row.free_reason = 0.0, "held by pid 12"
            snapshot.devices.append(row)
        snapshot.workers.append(WorkerRow(f"{number:056x}", number, f"{number:056x}", "BUSY" if number % 2 else "IDLE"))
    return snapshot


def test_a_snapshot_of_a_large_cluster_has_rows_of_what_is_busy_and_counts_of_all() -> None:
    shown = totals.capped(_cluster(10_000, busy=(7_000, 9_000), taken=(9_999,)))
    assert len(shown.nodes) <= totals.MOST_NODES
    assert len(shown.devices) == totals.MOST_DEVICES
    names = [node.name for node in shown.nodes]
    assert names[0] == "node-0", "the head's node comes first"
    assert names[-3:] == ["node-7000", "node-9000", "node-9999"], "in the cluster's order"
    assert {row.node_id for row in shown.devices} == {node.node_id for node in shown.nodes}
    (count,) = shown.device_counts
    assert (count.total, count.held, count.taken, count.free) == (80_000, 16, 1, 79_983)
    assert (count.shared, count.most_free, count.least_free) == (16, 0.5, 0.5)
    assert shown.node_counts == {"alive": 10_000, "gone": 0}
    assert shown.resources == {"CPU": (639_992.0, 640_000.0), "GPU": (79_992.0, 80_000.0)}
    assert shown.worker_counts == {"BUSY": 5_000, "IDLE": 5_000}
    assert len(shown.workers) == totals.MOST_WORKERS
    assert {row.state for row in shown.workers} == {"BUSY"}


def test_a_cluster_of_a_thousand_devices_has_all_its_rows() -> None:
    snapshot = _cluster(125)
    shown = totals.capped(snapshot)
    assert (shown.nodes, shown.devices) == (snapshot.nodes, snapshot.devices)
    assert totals.devices_left_out(shown) == totals.nodes_left_out(shown) == ""
    page = publishing.of_snapshot(shown)
    assert len(page.devices) == 1000


def test_nodes_that_have_gone_are_shown_but_do_not_crowd_the_others_out() -> None:
    snapshot = _cluster(2_000, busy=(1_999,))
    for number in range(1, 1_000):
        snapshot.nodes[number].alive, snapshot.nodes[number].why = False, "it was lost"
    shown = totals.capped(snapshot)
    gone = [node.name for node in shown.nodes if not node.alive]
    assert gone == [f"node-{number}" for number in range(1_000 - totals.MOST_GONE, 1_000)], "the newest"
    assert shown.nodes[-1].name == "node-1999"
    assert shown.node_counts == {"alive": 1_001, "gone": 999}
    assert shown.device_counts[0].total == 8 * 1_001


def test_one_node_of_very_many_devices_shows_those_that_are_held() -> None:
    snapshot = _cluster(1, 4_000)
    snapshot.devices[3_999].holders = [Holder("train", 1.0)]
    shown = totals.capped(snapshot)
    assert len(shown.devices) == totals.MOST_DEVICES
    assert shown.devices[-1].index == 3_999


def test_what_is_capped_already_is_capped_again_with_the_same_counts() -> None:
    once = totals.capped(_cluster(600))
    twice = totals.capped(once, nodes=8, devices=64)
    assert (len(twice.nodes), len(twice.devices)) == (8, 64)
    assert twice.device_counts == once.device_counts
    assert totals.more_devices(twice) == 4_800 - 64


@pytest.mark.slow
def test_views_count_all_and_say_how_many_are_not_shown() -> None:
    shown = totals.capped(_cluster(10_000, busy=tuple(range(5_000))))
    assert tables.busy(shown) == ["40000 of 80000 GPUs busy"]
    assert tables.beside_busy(shown) == "20000 of 640000 CPUs busy · 40000 shared GPUs have 0.5 free each"
    assert "10000 nodes" in tables.headline(shown)
    left_out = "and 78976 more devices: those that are held or in trouble are shown"
    assert tables.as_text(tables.devices(shown)).endswith(left_out)
    assert tables.as_text(node_tables.nodes(shown)).endswith(
        "and 9872 more nodes: those that are held or in trouble are shown"
    )
    assert left_out in static_tables.devices(shown)
    assert left_out in static_tables.devices(shown, tiled=True)
    assert left_out in view.status_text(shown)
    assert "Held by train × 1024 · of 1024 shown · 40000 free" in card.text(shown)
    assert "× NVIDIA H100" not in card.last_mimebundle(shown, "shut down")["text/plain"]
    assert left_out in _on_screen(shown)


def _on_screen(snapshot: Snapshot) -> str:
    from rich.console import Console

    console = Console(width=160, height=40, record=True, file=io.StringIO())
    console.print(top.page([snapshot], snapshot.time, console.size))
    return console.export_text()


@pytest.mark.slow
def test_a_page_gets_some_rows_of_ten_thousand_nodes() -> None:
    shown = totals.capped(_cluster(10_000, busy=tuple(range(9_000))))
    body = publishing.to_json(publishing.of_snapshot(shown))
    assert len(body) <= 128 << 10
    page = msgspec.json.decode(body)
    assert page["node_counts"] == {"alive": 10_000, "gone": 0}
    assert page["device_counts"][0]["total"] == 80_000
    assert page["resources"]["GPU"] == [44_000.0, 80_000.0]
    devices = page["devices"]
    assert len(devices) >= 64, "and still rows of many"
    assert {row["node_id"] for row in devices} <= {row["node_id"] for row in page["nodes"]}


@pytest.mark.slow
def test_a_whole_snapshot_of_ten_thousand_nodes_is_bounded() -> None:
    shown = totals.capped(_cluster(10_000, busy=tuple(range(9_000))))
    assert len(shown.to_json()) < 1_000_000

"""Sums over the nodes of a head are those of its rows, whatever has happened, and only what has changed is counted."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nbaccel.accelerators import Device, DeviceKind, NodeDevices
from nbaccel.local_engine.head.devices.node_devices import Nodes
from nbaccel.local_engine.head.snapshot_builder import NodeTallies
from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.views import totals
from nbaccel.views.snapshot import DeviceRow, Holder, NodeRow
from tests.scheduling.world import World, choice, demand, node

MOVES = ("submit", "return", "die", "add", "remove", "taken", "lost", "back", "block", "group")


def _offered(devices: int) -> NodeDevices:
    kinds = (DeviceKind.REAL, DeviceKind.LOGICAL, DeviceKind.SIMULATED)
    made = [Device(str(n), n, "nvidia", "NVIDIA GPU", "GPU", kind=kinds[n % 3], offered=True) for n in range(devices)]
    return NodeDevices({"GPU": made} if made else {})


class Head:
    """A world of the scheduler's, with the head's book of its nodes."""

    def __init__(self) -> None:
        self.world = World()
        self.nodes = Nodes(lambda event: self.world.notify(event))
        self.tallies = NodeTallies(self.world.scheduler, self.nodes)
        self.made = 0
        self.add(2)

    def add(self, devices: int) -> None:
        spec = node(f"n{self.made}", devices, CPU=4)
        spec.is_head = not self.made
        self.made += 1
        for device in spec.devices:
            self.world.amounts[spec.node_id, device.resource, device.index] = device.amount
        self.nodes.add(spec, _offered(devices))

    def remove(self, node_id: bytes) -> None:
        self.nodes.remove(node_id, "it was lost")
        self.world.notify(ev.NodeRemoved(node_id, "it was lost"))

    def rows(self) -> tuple[list[NodeRow], list[DeviceRow]]:
        """The rows of all nodes and of the devices of living ones, made anew from the scheduler's answers."""
        scheduler, nodes, devices = self.world.scheduler, [], []
        for node_id, spec in self.nodes.specs.items():
            alive = node_id not in self.nodes.gone
            totals_, free = _amounts(scheduler, node_id) if alive else ({}, {})
            nodes.append(NodeRow(node_id.hex(), spec.name, alive, spec.is_head, totals_, free))
            held = {row.index for row in scheduler.device_holders(node_id)} if alive else set()
            for device in scheduler.devices(node_id) if alive else ():
                kind = self.nodes.device(node_id, "GPU", device.spec.index).kind.value
                row = DeviceRow(node_id.hex(), "GPU", device.spec.index, "", "", "", kind)
                row.free, row.free_reason = max(device.free_amount(), 0) / UNIT, device.reason
                row.holders = [Holder("f", 1.0)] if device.spec.index in held else []
                devices.append(row)
        return nodes, devices


def _amounts(scheduler: Scheduler, node_id: bytes) -> tuple[dict[str, float], dict[str, float]]:
    has, free = scheduler.node_totals(node_id), scheduler.node_available(node_id)
    return {n: a / UNIT for n, a in has.items()}, {n: a / UNIT for n, a in free.items()}


def _do(head: Head, what: str, number: int) -> None:
    world = head.world
    world.ready()
    living = [node_id for node_id in head.nodes.specs if node_id not in head.nodes.gone]
    sent = [task for task in world.tasks.values() if world.is_sent(task)]
    if what == "submit":
        gpus = (0, 0.25, 0.5, 1, 2)[number % 5]
        world.submit(f"f{number}", choice(CPU=1 + number % 3, **({"GPU": gpus} if gpus else {})))
    elif what == "group":
        if b"g%d" % number not in world.groups:
            world.notify(ev.GroupRequested(b"g%d" % number, "", [demand(GPU=0.5), demand(CPU=1)], "PACK", 1))
    elif what == "add":
        head.add(number % 4)
    elif what == "remove" and len(living) > 1:
        head.remove(living[1 + number % (len(living) - 1)])
    elif what in ("taken", "lost", "back"):
        node_id, free = living[number % len(living)], UNIT if what == "back" else 0
        if head.nodes.devices[node_id].devices:
            world.notify(ev.DeviceChanged(node_id, "GPU", 0, free, "" if free else "held by b.ipynb", what == "lost"))
    elif sent:
        task = sent[number % len(sent)]
        if what == "return":
            world.returns(task)
        elif what == "die":
            world.dies(world.worker_of(task))
        elif what == "block":
            world.blocks(task)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 40)), min_size=1, max_size=40))
def test_the_sums_are_those_of_the_rows_whatever_happened(moves: list[tuple[str, int]]) -> None:
    head = Head()
    for what, number in moves:
        _do(head, what, number)
        head.tallies.look()
        nodes, devices = head.rows()
        assert sorted(head.tallies.device_counts(), key=str) == sorted(totals.count_devices(nodes, devices), key=str)
        expected = {name: each for name, each in totals.sum_resources(nodes).items() if each[1]}
        assert head.tallies.resources() == expected
        alive = sum(node.alive for node in nodes)
        assert head.tallies.node_counts() == {"alive": alive, "gone": len(nodes) - alive}


def test_a_node_that_has_not_changed_is_not_counted_again() -> None:
    head = Head()
    for _ in range(3):
        head.add(2)
    head.tallies.look()
    counted = []
    count = head.tallies._count
    head.tallies._count = lambda node_id, *a, **b: (counted.append(node_id), count(node_id, *a, **b))[1]  # type: ignore[method-assign,func-returns-value]
    head.tallies.look()
    assert counted == []
    head.world.submit("f", choice(GPU=1))
    head.tallies.look()
    assert counted == [b"n0"]


def test_the_nodes_shown_are_the_busy_ones_of_very_many_in_their_order() -> None:
    head = Head()
    for _ in range(totals.MOST_NODES + 40):
        head.add(1)
    last = b"n%d" % (head.made - 1)
    head.world.notify(ev.DeviceChanged(last, "GPU", 0, 0, "held by b.ipynb"))
    gone = b"n%d" % (head.made - 5)
    head.remove(gone)
    head.tallies.look()
    shown = head.tallies.shown()
    assert len(shown) == totals.MOST_NODES
    assert shown[0] == b"n0"
    assert shown[-2:] == [gone, last]

"""When snapshots are sent: at once, a few each second, none when nothing changes, and the newest to a slow reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Peer
from nbaccel.local_engine.head.watchers import MANY_ROWS, SNAPSHOTS_PER_S, Watchers
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.views.snapshot import Runtime, Snapshot
from tests.local_engine.head.seams import Clock, Outbox, outbox
from tests.local_engine.head_world import HeadWorld


class House:
    """Watchers of a cluster in which so many tasks run as the test says."""

    def __init__(self, sent: Outbox) -> None:
        self.clock = Clock()
        self.running = 0
        self.sent = sent
        self.lines: list[Any] = []  # what observers were told
        self.measuring = False
        scheduler: Any = None  # only warnings ask it
        self.watchers = Watchers(
            self.clock, scheduler, {}, sent.send,
            snapshot=self.snapshot, measure=self.measure, send_line=lambda peer, line: self.lines.append(line),
        )  # fmt: skip

    def snapshot(self, seq: int, rows: int) -> Snapshot:
        return Snapshot(Runtime("local", "0.1.0", "3.11.7"), seq=seq, counts={"RUNNING": self.running})

    def measure(self, on: bool) -> None:
        self.measuring = on

    def watch(self, client_id: int, rows: int = 0, role: str = "news", metrics: bool = True) -> Peer:
        peer = self.sent.add(client_id, role)
        self.watchers.watch(peer, wire.Watch(on=True, rows=rows, metrics=metrics))
        return peer

    def changes(self) -> None:
        self.running += 1
        self.watchers.changed()

    def seen(self, client_id: int) -> list[Snapshot]:
        """The snapshots that this watcher got since the last look."""
        return [msgspec.msgpack.decode(each.body, type=Snapshot) for each in self.sent.taken(client_id)]


@pytest.fixture
def house() -> Iterator[House]:
    with outbox() as sent:
        yield House(sent)


def test_devices_are_measured_while_a_watcher_asks_for_it(house: House) -> None:
    house.watch(1, metrics=False)
    assert not house.measuring
    second = house.watch(2)
    assert house.measuring
    house.watchers.watch(second, wire.Watch(on=True, metrics=False))
    assert not house.measuring
    house.watchers.watch(second, wire.Watch(on=True))
    house.watchers.gone(second)
    assert not house.measuring


def running(snapshots: list[Snapshot]) -> list[int]:
    return [snapshot.counts["RUNNING"] for snapshot in snapshots]


def test_the_first_snapshot_comes_at_once_and_so_does_the_next_change(house: House) -> None:
    house.watch(1)
    assert running(house.seen(1)) == [0]
    house.changes()
    house.clock.jump()
    assert running(house.seen(1)) == [1]


def test_an_observer_and_a_driver_are_sent_the_same_snapshots(house: House) -> None:
    house.watch(1)
    house.watch(2, role="observer")
    [notified] = house.lines
    assert (notified.snapshot.seq, notified.snapshot.counts) == (2, {"RUNNING": 0})
    house.seen(1)
    house.changes()
    house.clock.jump()
    [snapshot] = house.seen(1)
    assert house.lines[1].snapshot == snapshot and snapshot.seq == 3 and snapshot.time > 0


def test_what_changes_without_end_is_a_few_snapshots_a_second_each_with_the_newest(house: House) -> None:
    house.watch(1)
    for _ in range(1990):  # not quite two seconds
        house.changes()
        house.clock.jump(0.001)
    snapshots = house.seen(1)
    assert len(snapshots) == 1 + 2 * SNAPSHOTS_PER_S
    assert running(snapshots) == sorted(set(running(snapshots)))
    assert [snapshot.seq for snapshot in snapshots] == list(range(1, len(snapshots) + 1))
    house.clock.jump(1.0)
    assert running(house.seen(1)) == [1990]


def test_a_snapshot_of_many_rows_comes_once_a_second(house: House) -> None:
    house.watch(1, rows=MANY_ROWS + 1)
    for _ in range(1990):  # not quite two seconds
        house.changes()
        house.clock.jump(0.001)
    assert len(house.seen(1)) == 1 + 2


def test_a_change_that_changes_nothing_in_the_snapshot_sends_nothing(house: House) -> None:
    house.watch(1)
    house.changes()
    house.clock.jump()
    house.seen(1)
    for _ in range(20):
        house.watchers.changed()
        house.clock.jump(1.0)
    assert house.seen(1) == []


def test_who_has_not_read_the_last_snapshot_gets_the_newest_when_it_has(house: House) -> None:
    slow = house.watch(1)
    house.seen(1)
    slow.pending += b"what it has not read"
    for _ in range(3):
        house.changes()
        house.clock.jump(1.0)
    assert house.seen(1) == []
    slow.pending.clear()
    house.watchers.caught_up(slow)
    house.clock.jump()
    assert running(house.seen(1)) == [3]


def test_questions_to_a_quiet_head_send_no_snapshot() -> None:
    world = HeadWorld()
    try:
        world.watch()
        for _ in range(60):  # idle workers have ended, and nobody waits for the devices of this world to answer
            world.jump(1.0)
        before = world.wiring.watchers.seq
        for number in range(20):
            world.ask(number, asks.FreeResources())
            world.jump(1.0)
        assert world.wiring.watchers.seq == before
        world.submit("task")
        world.jump(1.0)
        assert world.wiring.watchers.seq > before
    finally:
        world.end()


def test_tasks_that_begin_to_wait_are_shown_though_nobody_is_given_an_order() -> None:
    world = HeadWorld()
    try:
        world.watch()
        for number in (1, 2):
            last = world.submit("train")
            assert world.shown() == {"RUNNING": number}
        for number in (1, 2, 3):
            last = world.submit("train")
            assert world.shown() == {"RUNNING": 2, "PENDING_NODE_ASSIGNMENT": number}
        world.submit("task", after=last)
        assert world.shown() == {"RUNNING": 2, "PENDING_NODE_ASSIGNMENT": 3, "PENDING_ARGS_AVAIL": 1}
    finally:
        world.end()

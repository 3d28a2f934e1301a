"""Accounts of device use, by function and by cell, and of how long each device was held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from nbaccel.views.history.answers import AccountingAnswer, AccountRow, DeviceAccount
from nbaccel.views.history.kinds import KindOfRuns, KindsOfRuns
from nbaccel.views.history.run import PastRun

MOST_DEVICES = 4_096
FAILED = "FAILED"
R = TypeVar("R")


class _DeviceTime(msgspec.Struct):
    """The account of one device."""

    since: float
    seconds: float = 0.0
    seq: int = 0


class Accounts:
    """Adds up what each run held: ended runs when they end, running ones when somebody asks."""

    def __init__(self, kinds: KindsOfRuns) -> None:
        self._kinds = kinds
        self._devices: dict[str, _DeviceTime] = {}

    def has_device(self, name: str, since: float) -> None:
        """Add a device; it is idle until a run holds it."""
        known = self._devices.get(name)
        if known is not None:
            known.since = min(known.since, since)
        elif len(self._devices) < MOST_DEVICES:
            self._devices[name] = _DeviceTime(since)

    def ended(self, kind: KindOfRuns, run: PastRun, ended: float, seq: int) -> None:
        """Add a run that has ended."""
        seconds = max(ended - run.started, 0.0) if run.seconds is None else run.seconds
        kind.seconds += seconds
        kind.seq = seq
        kind.runs += run.number if run.is_task else 0
        if not run.holds:
            return
        for name, amount in run.devices:
            kind.device_seconds += seconds * amount
            self.has_device(name, run.started)
            if held := self._devices.get(name):
                held.seconds += seconds * amount
                held.seq = seq

    def answer(self, now: float, since: int, running: Sequence[PastRun], seq: int, most_bytes: int) -> AccountingAnswer:
        """The rows that have changed since `since` or still change, as many as fit."""
        functions = self._rows(lambda one: (one.function, 0), now, since, running)
        cells = self._rows(lambda one: (one.cell, one.job), now, since, running)
        devices, known_s, held_s = self._device_rows(now, since, running)
        answer = AccountingAnswer(seq, 0.0, now, [], [], [], known_s, held_s, 0)
        room = most_bytes - len(msgspec.json.encode(answer))
        answer.functions, room, left = _fitting(functions, room)
        answer.left_out += left
        answer.cells, room, left = _fitting(cells, room)
        answer.left_out += left
        answer.devices, room, left = _fitting(devices, room)
        answer.left_out += left
        return answer

    def _rows(
        self,
        key_of: Callable[[KindOfRuns | PastRun], tuple[str, int]],
        now: float,
        since: int,
        running: Iterable[PastRun],
    ) -> list[AccountRow]:
        rows: dict[tuple[str, int], AccountRow] = {}
        changed: set[tuple[str, int]] = set()

        def row_of(key: tuple[str, int]) -> AccountRow:
            row = rows.get(key)
            if row is None:
                row = rows[key] = AccountRow(*key, 0, 0, 0, 0.0, 0.0, 0.0)
            return row

        for kind in self._kinds.rows:
            if not kind.seq:
                continue  # of runs that go on only
            row = row_of(key_of(kind))
            row.runs += kind.runs
            row.failed += kind.runs if kind.state == FAILED else 0
            row.seconds += kind.seconds
            row.device_seconds += kind.device_seconds
            if kind.seq > since:
                changed.add(key_of(kind))
        for run in running:
            row = row_of(key_of(run))
            seconds = max(now - run.started, 0.0)
            amount = sum(amount for _name, amount in run.devices) if run.holds else 0.0
            row.runs += run.is_task
            row.running += run.is_task
            row.seconds += seconds
            row.devices += amount
            row.device_seconds += seconds * amount
            changed.add(key_of(run))
        shown = [_rounded(row) for key, row in rows.items() if key in changed]
        return sorted(shown, key=lambda row: (-row.device_seconds, -row.seconds, row.name))

    def _device_rows(
        self, now: float, since: int, running: Iterable[PastRun]
    ) -> tuple[list[DeviceAccount], float, float]:
        goes_on: dict[str, list[float]] = {}
        for run in running:
            for name, amount in run.devices if run.holds else ():
                self.has_device(name, run.started)
                held = goes_on.setdefault(name, [0.0, 0.0])
                held[0] += max(now - run.started, 0.0) * amount
                held[1] += amount
        rows, known_s, held_s = [], 0.0, 0.0
        for name, device in self._devices.items():
            seconds, amount = goes_on.get(name, (0.0, 0.0))
            known_s += max(now - device.since, 0.0)
            held_s += device.seconds + seconds
            if not since or device.seq > since or name in goes_on:
                rows.append(DeviceAccount(name, device.since, round(device.seconds + seconds, 3), amount))
        return sorted(rows, key=lambda row: row.held_seconds), round(known_s, 3), round(held_s, 3)


def _rounded(row: AccountRow) -> AccountRow:
    row.seconds, row.device_seconds = round(row.seconds, 3), round(row.device_seconds, 3)
    row.devices = round(row.devices, 4)
    return row


def _fitting(rows: list[R], room: int) -> tuple[list[R], int, int]:
    """(the first rows that there is room for, the remaining room, the number of rows left out)."""
    for number, row in enumerate(rows):
        room -= len(msgspec.json.encode(row)) + 1
        if room < 0:
            return rows[:number], 0, len(rows) - number
    return rows, room, 0

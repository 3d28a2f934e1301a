"""What the tabs of all browsers look at: connections to heads, the list of runtimes and the sampler, for as long as
somebody looks.

```
  Tab (shown, wants these runtimes) ──► Watching ──► a Feed for each wanted runtime ──► its connection
       ◄── tell(key, text): the newest of each key counts, a slow tab misses the others ──┘
```
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from nbaccel_lab.connection import Connections, HeadUnavailable
from nbaccel_lab.feed import Feed
from nbaccel_lab.kernels import Kernels, Owner
from nbaccel_lab.runtimes import IgnoredFile, RuntimeRecord, scan
from nbaccel_lab.sampling import COMMAND, Sampler

LOOK_EVERY_S = 1.0
ALL = "*"
Found = tuple[list[RuntimeRecord], list[IgnoredFile]]


class Tab(Protocol):
    """A tab of a browser."""

    shown: bool
    runtimes: frozenset[str]
    rows: int

    def tell(self, key: str, text: str) -> None:
        """Send a message; it may be replaced by a later one of the same key."""


class Watching:
    """All that the server knows of runtimes and of this machine."""

    def __init__(self, kernels: Kernels, *, find: Callable[[], Found] = scan, sampler: Sequence[str] = COMMAND) -> None:
        self.connections = Connections()
        self.sampler = Sampler(self._machine_changed, sampler)
        self._kernels = kernels
        self._find = find
        self._records: dict[str, RuntimeRecord] = {}
        self._ignored: list[IgnoredFile] = []
        self._owners: dict[int, Owner] = {}
        self._tabs: set[Tab] = set()
        self._feeds: dict[str, Feed] = {}
        self._looking: asyncio.Task[None] | None = None
        self._look_now = asyncio.Event()
        self._ending: set[asyncio.Task[None]] = set()
        self._listed = ""
        self._looks = 0  # that have begun
        self._newest = 0  # the look that the records are of

    # ---- runtimes

    async def look(self) -> None:
        """Read the files of the runtimes anew, in a thread."""
        self._looks += 1
        number = self._looks
        records, ignored = await asyncio.to_thread(self._find)
        if number < self._newest:
            return  # one that began later was faster, and has seen what is there now
        self._newest, self._ignored = number, ignored
        self._records = {record.id: record for record in records}
        owners = await self._kernels.owners({record.owner_pid for record in records if record.owner_pid})
        if number == self._newest:
            self._owners = owners

    async def record(self, id: str) -> RuntimeRecord | None:
        """The runtime of this id; None if there is none."""
        await self.look()
        return self._records.get(id)

    def records(self) -> list[RuntimeRecord]:
        return list(self._records.values())

    def listed(self) -> dict[str, Any]:
        """The runtimes as browsers get them: without tokens and paths."""
        return {
            "runtimes": [self.row(record) for record in self._records.values()],
            "ignored": [asdict(file) for file in self._ignored],
        }

    def row(self, record: RuntimeRecord) -> dict[str, Any]:
        kernel_id, notebook = self._owners.get(record.owner_pid, ("", ""))
        feed = self._feeds.get(record.id)
        state, reason = ("other_version", record.other_version) if record.other_version else ("found", "")
        if not reason and feed is not None:
            state, reason = feed.state, feed.reason
        return {
            "id": record.id,
            "title": record.title,
            "shared": record.shared,
            "engine": record.engine,
            "pid": record.pid,
            "owner_pid": record.owner_pid,
            "kernel_id": kernel_id,
            "notebook": notebook,
            "started_at": record.started_at,
            "version": record.version,
            "python": record.python,
            "protocol": record.protocol,
            "state": state,
            "reason": reason,
        }

    async def snapshot(self, record: RuntimeRecord) -> dict[str, Any]:
        """A runtime's snapshot. Raises HeadUnavailable, HeadRefused."""
        feed = self._feeds.get(record.id)
        if feed is not None and feed.state == "connected" and feed.latest is not None:
            return feed.latest
        said = await self.connections.ask(record, {"ask": "snapshot"})
        snapshot = said.get("snapshot")
        if not isinstance(snapshot, dict):
            raise HeadUnavailable("The head's answer has no snapshot.")
        return snapshot

    # ---- tabs

    @property
    def rests(self) -> bool:
        """Whether nothing runs, since nobody looks."""
        return self._looking is None and not self._feeds and not self.sampler.runs and not self._ending

    def add(self, tab: Tab) -> None:
        self._tabs.add(tab)
        self.update(tab)

    def remove(self, tab: Tab) -> None:
        self._tabs.discard(tab)
        self.update()

    def update(self, tab: Tab | None = None) -> None:
        """Tabs are shown or hidden, or want something else. `tab` gets what is known now."""
        seen = any(each.shown for each in self._tabs)
        if seen and self._looking is None:
            self._looking = asyncio.create_task(self._keep_looking())
            self.sampler.begin()
        elif not seen and self._looking is not None:
            self._looking.cancel()
            self._looking = None
            self._listed = ""
            self._finish(self.sampler.end())
        self._feed()
        if tab is not None and tab.shown:
            self._tell_all(tab)

    def _tell_all(self, tab: Tab) -> None:
        if self._listed:
            tab.tell("runtimes", self._listed)
        if self.sampler.latest is not None:
            tab.tell("machine", _text("machine", machine=self.sampler.latest))
        for id in sorted(self._wanted_by(tab)):
            feed = self._feeds.get(id)
            if feed is not None and feed.text:
                tab.tell(f"snapshot {id}", feed.text)
        if self._listed:
            self._tell_missing(tab)

    def _tell_missing(self, tab: Tab) -> None:
        for id in sorted(tab.runtimes - {ALL} - set(self._records)):
            tab.tell(f"gone {id}", _gone(id, "There is no such runtime, or it has ended."))

    async def close(self) -> None:
        """End all that runs."""
        self._tabs.clear()
        self.update()
        while self._ending:
            await asyncio.wait(self._ending)

    # ---- looking

    async def _keep_looking(self) -> None:
        while True:
            self._look_now.clear()
            await self.look()
            self._feed()
            self._tell_list()
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._look_now.wait()
            except TimeoutError:
                pass  # it is time to look again

    def _feed(self) -> None:
        """Have a feed for each runtime that a shown tab wants, and no other."""
        wanted: dict[str, int] = {}
        for tab in self._tabs:
            for id in self._wanted_by(tab) if tab.shown else ():
                wanted[id] = max(wanted.get(id, 0), tab.rows)
        for id in [id for id in self._feeds if id not in wanted or id not in self._records]:
            feed = self._feeds.pop(id)
            self._finish(feed.end())
            if id not in self._records:
                self._post(f"gone {id}", _gone(id, feed.reason or "The runtime has ended."), id)
        for id, rows in wanted.items():
            record = self._records.get(id)
            if record is None or not record.speaks_ours:
                continue
            if id not in self._feeds:
                self._feeds[id] = Feed(record, self.connections, self._snapshot_came, self._look_now.set)
            self._feeds[id].want(rows)

    def _wanted_by(self, tab: Tab) -> frozenset[str] | set[str]:
        return set(self._records) if ALL in tab.runtimes else tab.runtimes

    def _tell_list(self) -> None:
        text = _text("runtimes", **self.listed())
        if text != self._listed:
            self._listed = text
            for tab in self._tabs:
                if tab.shown:
                    tab.tell("runtimes", text)
                    self._tell_missing(tab)

    def _snapshot_came(self, id: str, text: str) -> None:
        self._post(f"snapshot {id}", text, id)

    def _machine_changed(self, machine: dict[str, Any]) -> None:
        self._post("machine", _text("machine", machine=machine))

    def _post(self, key: str, text: str, id: str = "") -> None:
        """Send to the shown tabs; of a runtime, to those that want it."""
        for tab in self._tabs:
            if tab.shown and (not id or ALL in tab.runtimes or id in tab.runtimes):
                tab.tell(key, text)

    def _finish(self, ending: Awaitable[None]) -> None:
        task = asyncio.ensure_future(ending)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _text(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})


def _gone(id: str, reason: str) -> str:
    return _text("gone", runtime=id, reason=reason)

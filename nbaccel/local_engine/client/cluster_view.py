"""Questions that any process may ask the head: nodes, resources, groups, snapshots, reasons."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import asdict

from nbaccel.engine import Engine, ListedRow
from nbaccel.handles.ids import id_of
from nbaccel.handles.options import TaskOptions
from nbaccel.handles.remote import ObjectRef
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.direct_calls import ActorClient
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.object_client import PublishedRecords
from nbaccel.local_engine.client.task_terms import asked
from nbaccel.local_engine.client.values import ReferenceCounts, Values
from nbaccel.local_engine.wire import codec
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire.ids import IdMaker, return_id
from nbaccel.views.explanations import ExpectedGrowth, Explanation, Probe
from nbaccel.views.observer_lines import (
    AskPublisher,
    Explain,
    FindTasks,
    Question,
    ReadLogs,
    Recycle,
    RetryTask,
    TakeSnapshot,
)
from nbaccel.views.record_book import Rows
from nbaccel.views.snapshot import ObjectPlaces, Snapshot
from nbaccel.views.task_filter import FoundTasks, TaskFilter

A = TypeVar("A")


class Asker(Protocol):
    """The process that asks. A worker's job and namespace are known only after its start."""

    @property
    def link(self) -> Link: ...
    @property
    def direct(self) -> ActorClient | None: ...
    @property
    def job(self) -> int: ...
    @property
    def namespace(self) -> str: ...
    @property
    def ids(self) -> IdMaker: ...
    @property
    def references(self) -> ReferenceCounts: ...
    @property
    def values(self) -> Values: ...
    @property
    def published(self) -> PublishedRecords: ...


class ClusterView:
    """Asks the head for one process; the refs in its answers belong to `engine`."""

    def __init__(self, engine: Engine, asker: Asker) -> None:
        self._engine = engine
        self._asker = asker
        self._link = asker.link

    def lost(self) -> str:
        return self._link.lost or ""

    def nodes(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self._link.ask(asks.ListNodes())]

    def cluster_resources(self) -> dict[str, float]:
        return self._link.ask(asks.TotalResources())

    def available_resources(self) -> dict[str, float]:
        return self._link.ask(asks.FreeResources())

    def snapshot(self) -> Snapshot:
        snapshot = self._link.ask(TakeSnapshot())
        snapshot.runtime.job = self._asker.job
        return snapshot

    def tasks(self, wanted: TaskFilter) -> FoundTasks:
        return self._link.ask(FindTasks(wanted))

    def explain(self, what: str | None) -> list[Explanation]:
        return self._link.ask(Explain(what))

    def probe(self, options: TaskOptions) -> Probe:
        return self._link.ask(asks.ProbeChoice(asked(options)))

    def recycle(self) -> int:
        return self._link.ask(Recycle())

    def expect_imports(self, modules: Sequence[str]) -> None:
        self._link.send_later(asks.notified(asks.ExpectImports(list(modules))))

    def only_in_history(self, ids: list[bytes]) -> None:
        """Tell the head that only a notebook's output history still refers to these objects."""
        if ids:
            self._link.send_later(asks.notified(asks.MoveFirst(ids)))

    def logs(self, task_id: str | None, *, tail: int) -> str:
        return self._link.ask(ReadLogs(task_id, tail))

    def await_output(self, timeout_s: float) -> None:
        """Do nothing: only a driver shows output."""

    def history(self, asked: Question[A]) -> A:
        return self._link.ask(asked)

    def state(self, kind: type[ListedRow], limit: int) -> list[ListedRow]:
        rows = self._link.ask(asks.ReadState(kind.__name__, limit))
        return msgspec.msgpack.decode(rows, type=list[kind])  # type: ignore[valid-type]

    def cancel_by_id(self, task_id: str, *, force: bool = False) -> None:
        if self._asker.direct is not None:
            self._asker.direct.report()
        self._link.send(wire.Cancel(id_of(task_id, "a task"), force))

    def retry(self, task_id: str) -> str:
        return self._link.ask(RetryTask(task_id))

    def ref_of(self, task_id: str) -> list[ObjectRef[Any]]:
        refs = []
        for id in self._link.ask(asks.FindResults(task_id)):
            self._asker.references.received(id)
            refs.append(ObjectRef[Any](id, self._engine))
        return refs

    def kill_by_id(self, actor_id: str) -> None:
        id = id_of(actor_id, "an actor")
        if self._asker.direct is not None:
            self._asker.direct.stop(id)
        self._link.send(wire.KillActor(id))

    def publish(
        self,
        kind: str,
        id: str,
        record: Mapping[str, Any] | None,
        asked: Callable[[str], object] | None = None,
        rows: Rows | None = None,
    ) -> None:
        self._asker.published.publish(kind, id, record, asked, rows)

    def ask(self, id: str, what: str) -> None:
        self._link.ask(AskPublisher(id, what))

    def object_locations(self, refs: Sequence[ObjectRef[Any]]) -> list[ObjectPlaces]:
        if self._asker.direct is not None:
            self._asker.direct.hand_over([ref.binary() for ref in refs])
        return self._link.ask(asks.LocateObjects([ref.binary() for ref in refs]))

    def timeline(self) -> list[dict[str, Any]]:
        return self._link.ask(asks.ReadTimeline())

    def request_resources(
        self,
        num_cpus: int | None,
        bundles: list[dict[str, float]] | None,
        bundle_labels: list[dict[str, str]] | None,
    ) -> bool:
        one_cpu: list[dict[str, float]] = [{"CPU": 1}]
        labels = [*([{}] * (num_cpus or 0)), *bundle_labels] if bundle_labels else []
        return self._link.ask(asks.RequestResources([*(one_cpu * (num_cpus or 0)), *(bundles or [])], labels))

    def hold_resources(self, id: str, bundles: list[dict[str, float]]) -> bool:
        return self._link.ask(asks.HoldResources(id, bundles))

    def expected_growth(self, bundles: list[dict[str, float]]) -> ExpectedGrowth | None:
        return self._link.ask(asks.ForecastGrowth(bundles))

    def move_objects(self, node: str) -> tuple[int, int]:
        return self._link.ask(asks.MoveObjects(node))

    def create_group(
        self,
        bundles: list[dict[str, float]],
        strategy: str,
        name: str,
        detached: bool,
        bundle_labels: list[dict[str, str]] | None,
        soft_node: str,
    ) -> bytes:
        group_id = os.urandom(18)
        labels, namespace = bundle_labels, self._asker.namespace
        self._link.ask(asks.CreateGroup(group_id, bundles, strategy, name, detached, labels, namespace, soft_node))
        return group_id

    def group_ready(self, group_id: bytes, value: Any) -> ObjectRef[Any]:
        ready = return_id(self._asker.ids.task_id(), 0)
        self._asker.references.created(ready)
        self._asker.values.expect((ready,))
        payload = codec.dump(value, [])
        body = payload if isinstance(payload, bytes) else payload.joined()
        self._link.ask(asks.WhenGroupReady(group_id, ready, body))
        return ObjectRef(ready, self._engine)

    def remove_group(self, group_id: bytes) -> None:
        self._link.ask(asks.RemoveGroup(group_id))

    def why_never_placed(self, bundles: list[dict[str, float]], strategy: str) -> str:
        return self._link.ask(asks.AskWhyNeverPlaced(bundles, strategy))

    def group_table(self, group_id: bytes | None) -> dict[str, Any]:
        rows = self._link.ask(asks.ReadGroups(group_id))
        if group_id is None:
            return {row.placement_group_id: asdict(row) for row in rows}
        return asdict(rows[0]) if rows else {}

    def find_group(self, name: str) -> dict[str, Any] | None:
        found = self._link.ask(asks.FindGroup(name, self._asker.namespace))
        return asdict(found) if found is not None else None

"""What any process of the cluster may ask the head: nodes, resources, groups, the picture, the reasons."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbaccel.handles.options import TaskOptions
from nbaccel.handles.remote import ObjectRef
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.terms import asked
from nbaccel.local_engine.wire import codec
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.views.explanations import Explanation, Probe
from nbaccel.views.observer_lines import AddNode, AskPublisher, Explain, FindTasks, ReadLogs, RemoveNode, TakeSnapshot
from nbaccel.views.snapshot import Snapshot
from nbaccel.views.task_filter import FoundTasks, TaskFilter


class ClusterView:
    """Mixed into drivers and workers; needs `link`, `holdings`, `values` and `job`."""

    def nodes(self: Any) -> list[dict[str, Any]]:
        return list(self.link.ask(asks.ListNodes()))

    def cluster_resources(self: Any) -> dict[str, float]:
        return dict(self.link.ask(asks.TotalResources()))

    def available_resources(self: Any) -> dict[str, float]:
        return dict(self.link.ask(asks.FreeResources()))

    def snapshot(self: Any) -> Snapshot:
        snapshot: Snapshot = self.link.ask(TakeSnapshot())
        snapshot.runtime.job = self.job
        return snapshot

    def tasks(self: Any, wanted: TaskFilter) -> FoundTasks:
        found: FoundTasks = self.link.ask(FindTasks(wanted))
        return found

    def explain(self: Any, what: str | None) -> list[Explanation]:
        explanations: list[Explanation] = self.link.ask(Explain(what))
        return explanations

    def probe(self: Any, options: TaskOptions) -> Probe:
        probe: Probe = self.link.ask(asks.ProbeChoice(asked(options)))
        return probe

    def recycle(self: Any) -> int:
        return int(self.link.ask(asks.Recycle()))

    def only_in_history(self: Any, ids: list[bytes]) -> None:
        """Nothing but a notebook's output history holds these objects any more."""
        if ids:
            self.link.say_later(asks.told(asks.MoveFirst(ids)))

    def logs(self: Any, task_id: str | None, *, tail: int) -> str:
        return str(self.link.ask(ReadLogs(task_id, tail)))

    def state(self: Any, what: str, limit: int) -> list[dict[str, Any]]:
        """Rows for nbaccel.util.state."""
        return list(self.link.ask(asks.ReadState(what, limit)))

    def cancel_by_id(self: Any, task_id: str, *, force: bool = False) -> None:
        self.link.say(wire.Cancel(bytes.fromhex(task_id), force))

    def kill_by_id(self: Any, actor_id: str) -> None:
        self.link.say(wire.KillActor(bytes.fromhex(actor_id)))

    def publish(
        self: Any, kind: str, id: str, record: Mapping[str, Any] | None, asked: Callable[[str], object] | None = None
    ) -> None:
        self.published.publish(kind, id, record, asked)

    def ask(self: Any, id: str, what: str) -> None:
        self.link.ask(AskPublisher(id, what))

    def object_locations(self: Any, refs: Sequence[ObjectRef[Any]]) -> list[dict[str, Any]]:
        return list(self.link.ask(asks.LocateObjects([ref.binary() for ref in refs])))

    def timeline(self: Any) -> list[dict[str, Any]]:
        return list(self.link.ask(asks.ReadTimeline()))

    def request_resources(
        self: Any,
        num_cpus: int | None,
        bundles: list[dict[str, float]] | None,
        bundle_labels: list[dict[str, str]] | None,
    ) -> bool:
        return False

    def create_group(
        self: Any,
        bundles: list[dict[str, float]],
        strategy: str,
        name: str,
        detached: bool,
        bundle_labels: list[dict[str, str]] | None,
        soft_node: str,
    ) -> bytes:
        group_id = os.urandom(18)
        labels, namespace = bundle_labels, self.namespace
        self.link.ask(asks.CreateGroup(group_id, bundles, strategy, name, detached, labels, namespace, soft_node))
        return group_id

    def group_ready(self: Any, group_id: bytes, value: Any) -> ObjectRef[Any]:
        ready = return_id(self.ids.task_id(), 0)
        self.holdings.created(ready)
        self.values.expect((ready,))
        payload = codec.dump(value, [])
        body = payload if isinstance(payload, bytes) else payload.joined()
        self.link.ask(asks.WhenGroupReady(group_id, ready, body))
        return ObjectRef(ready, self)

    def remove_group(self: Any, group_id: bytes) -> None:
        self.link.ask(asks.RemoveGroup(group_id))

    def group_table(self: Any, group_id: bytes | None) -> dict[str, Any]:
        return dict(self.link.ask(asks.ReadGroup(group_id)))

    def find_group(self: Any, name: str) -> dict[str, Any] | None:
        found = self.link.ask(asks.FindGroup(name, self.namespace))
        return dict(found) if found else None

    def add_node(self: Any, options: dict[str, Any]) -> str:
        return str(self.link.ask(AddNode(options)))

    def remove_node(self: Any, node_id: str) -> None:
        self.link.ask(RemoveNode(node_id))

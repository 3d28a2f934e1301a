"""Snapshots of a Ray cluster: what its tables say, what tasks have reported, what was submitted here."""

from __future__ import annotations

import time
from collections.abc import Callable

import ray

from nbaccel.ray_engine.reports import device_rows, growing
from nbaccel.ray_engine.reports.cluster import RaysFacts
from nbaccel.ray_engine.reports.growing import GrowthFacts
from nbaccel.ray_engine.reports.planning import AutoscalerFacts
from nbaccel.ray_engine.reports.reports import MOST_NOTES, DeviceSample, Note, RaysTables, Reports
from nbaccel.ray_engine.reports.service_actors import ServiceActors
from nbaccel.ray_engine.reports.snapshot_building import SnapshotFacts, build, build_of_nodes
from nbaccel.ray_engine.session import RaySession
from nbaccel.ray_engine.submission.submissions import Submissions
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views import task_filter, totals
from nbaccel.views.record_book import OwnRecords
from nbaccel.views.snapshot import Alert, Snapshot
from nbaccel.views.task_filter import FoundTasks, TaskFilter
from nbaccel.views.unused_devices import UnusedDevices

SMALLEST_GAP_S = 0.25
FIRST_REPORTS_S = 3.0  # processes check every two seconds whether reports are wanted


class Snapshots:
    """Takes them for one process."""

    def __init__(
        self,
        session: RaySession,
        actors: ServiceActors,
        reports: Reports,
        submissions: Submissions,
        published: OwnRecords,
        growth: Callable[[], GrowthFacts] | None = None,
    ) -> None:
        self._session = session
        self._actors = actors
        self._reports = reports
        self._submissions = submissions
        self._published = published
        self._growth = growth
        self._number = 0
        self._unused = UnusedDevices()
        self._began_at = time.time()
        self._lost_at: dict[str, float] = {}
        self._silent: set[str] = set()  # tasks whose process had gone at the last look without a word of their end

    def snapshot(self, *, internal: bool = False) -> Snapshot:
        """What is known now. The first one after tasks were submitted starts the reports: those of tasks that run
        already arrive within two seconds. `internal`: with what nbaccel runs for itself."""
        if self._submissions.all() or self._reports.is_watched():
            first = not self._reports.is_watched()
            self._reports.learn(0)
            deadline = time.monotonic() + FIRST_REPORTS_S
            while first and time.monotonic() < deadline and self._unheard_actors():
                self._reports.learn(SMALLEST_GAP_S)
        return self.take(metrics=False, internal=internal)

    def shown(self) -> Snapshot:
        """What is known now, with counts, and with so many rows as one snapshot may have."""
        return totals.capped(self.snapshot())

    def take(self, *, metrics: bool, rows: int = 0, internal: bool = False) -> Snapshot:
        self._number += 1
        notes = dict(self._reports.notes)
        tables = self.tables()
        self._hear_last_words(notes, tables)
        ended = self._reports.ended  # before the notes: a task that is counted here and has no note would count twice
        known = SnapshotFacts(
            tables,
            _as_old_as_tables(notes, dict(self._reports.notes)),
            ended,
            self._submissions,
            RaysFacts(self._session),
            self._session.joined is not None,
        )
        known.more_rows, known.began_at, known.internal = rows, self._began_at, internal
        known.lost_at = self._lost_at
        if metrics:
            known.samples = self._samples([row["NodeID"] for row in known.tables["nodes"] if row["Alive"]])
        drawn = build(known, self._number)
        drawn.published = self._published.rows()
        if metrics:
            self._unused.saw(device_rows.held(drawn.devices, drawn.nodes), time.monotonic())
        drawn.alerts = Alert.in_order([*drawn.alerts, *self._unused.alerts()])
        if self._growth is not None:
            growing.add_growth(drawn, self._growth())
        return drawn

    def _hear_last_words(self, notes: dict[str, Note], tables: RaysTables) -> None:
        """A process that ends with its task has said so before Ray takes it off its table, but maybe after these notes
        were read: the task would seem to have failed.
        """
        silent = {task_id for task_id, note in notes.items() if _is_silent(note, tables)}
        is_new, self._silent = bool(silent - self._silent), silent
        if is_new and self._reports.is_watched():
            self._reports.learn(0)

    def tasks(self, wanted: TaskFilter) -> FoundTasks:
        self.snapshot()  # reads the newest reports
        return task_filter.find(self.take(metrics=False, rows=MOST_NOTES).tasks, wanted)

    def nodes_only(self) -> Snapshot:
        """What the nodes have in all: enough to tell what can never be met, and one question to Ray."""
        return build_of_nodes(ray.nodes())

    def _unheard_actors(self) -> bool:
        """Whether an actor of ours lives whose devices are not known yet."""
        alive = {row["ActorID"] for row in self.tables()["actors"] if row["State"] == "ALIVE"}
        return any(
            each.about.kind is TaskKind.ACTOR_CREATION
            and not each.about.internal
            and each.actor_id is not None
            and each.actor_id.hex() in alive
            and "started_at" not in self._reports.notes.get(each.task_id.hex(), {})
            for each in self._submissions.all()
        )

    def tables(self) -> RaysTables:
        """Ray's own tables of nodes, actors, workers, groups and jobs."""
        self._session.head.check()
        tables: RaysTables = self._session.asked_inside("tables", "tables")
        return tables

    def autoscaler(self) -> AutoscalerFacts:
        """What Ray tells of the cluster's autoscaler (see tables)."""
        facts: AutoscalerFacts = self._session.asked_inside("tables", "autoscaler")
        return facts

    def _samples(self, node_ids: list[str]) -> dict[str, list[DeviceSample]]:
        asked = {node_id: self._actors.agent(node_id).devices.remote() for node_id in node_ids}
        if not asked:
            return {}
        ready, _ = ray.wait(list(asked.values()), num_returns=len(asked), timeout=SMALLEST_GAP_S)
        found = {}
        for node_id, ref in asked.items():
            if ref in ready:
                try:
                    found[node_id] = ray.get(ref)
                except ray.exceptions.RayError:
                    self._actors.lose_agent(node_id)  # its node has gone
        return found


def _is_silent(note: Note, tables: RaysTables) -> bool:
    """Whether its process has gone without a word of its end."""
    return "started_at" in note and "ended_at" not in note and note.get("worker_id") not in tables["workers"]


def _as_old_as_tables(before: dict[str, Note], now: dict[str, Note]) -> dict[str, Note]:
    """The notes that were there before Ray's tables were read, each as it is now unless another process wrote it, and
    all notes of tasks that have ended.

    Another thread may take in reports meanwhile. A process that the tables do not name yet would seem to have ended.
    """
    found = {}
    for task_id, note in before.items():
        later = now.get(task_id, note)
        is_as_old = later.get("worker_id") == note.get("worker_id") or "ended_at" in later
        found[task_id] = later if is_as_old else note
    return found | {task_id: note for task_id, note in now.items() if task_id not in before and "ended_at" in note}

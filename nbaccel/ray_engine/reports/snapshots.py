"""Snapshots of a Ray cluster: what its tables say, what tasks have reported, what was submitted here; and what else is
requested of a cluster: why something waits, what a demand would meet, logs, rows.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec
import ray

from nbaccel import __version__, exceptions
from nbaccel.engine import Engine, ListedRow
from nbaccel.handles.ids import id_of
from nbaccel.handles.options import TaskOptions
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.handles.remote import ActorHandle
from nbaccel.ray_engine.rays import RaysRef
from nbaccel.ray_engine.reports import device_rows, growing, planning
from nbaccel.ray_engine.reports.cluster import RaysFacts
from nbaccel.ray_engine.reports.device_rows import DeviceMemory
from nbaccel.ray_engine.reports.growing import GrowthFacts
from nbaccel.ray_engine.reports.planning import AutoscalerFacts
from nbaccel.ray_engine.reports.reports import MOST_NOTES, DeviceSample, Note, RaysTables, Reports
from nbaccel.ray_engine.reports.service_actors import ServiceActors
from nbaccel.ray_engine.reports.snapshot_building import SnapshotFacts, build, build_of_nodes
from nbaccel.ray_engine.session import RaySession, internals
from nbaccel.ray_engine.submission.submissions import Submissions
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views import sessions, task_filter, totals, trace_events
from nbaccel.views.explanations import Explanation, Probe, Verdict
from nbaccel.views.observer_server import DriverFacts, ObserverServer
from nbaccel.views.record_book import OwnRecords
from nbaccel.views.snapshot import Alert, ListedEnvironment, ListedObject, OnSnapshot, Snapshot, WorkerRow
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
        self._use = WorkerUse(actors, self._answered)
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
            self._use.fill(drawn.workers)
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
        return self._answered({node_id: self._actors.agent(node_id).devices.remote() for node_id in node_ids})

    def _answered(self, asked: Mapping[str, RaysRef]) -> dict[str, Any]:
        """What those agents answer that answer soon."""
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


# Asks several nodes' agents, and returns what those have answered that answer soon.
Answered = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_FORGOTTEN_S = 10.0
_STEP_BYTES = 1 << 20  # smaller differences are not told


class WorkerUse:
    """What one process has learned of them."""

    def __init__(self, actors: ServiceActors, answered: Answered) -> None:
        self._actors = actors
        self._answered = answered
        self._before: dict[tuple[str, int], tuple[float, float]] = {}  # node and pid -> (seconds of CPU, when)

    def fill(self, workers: list[WorkerRow]) -> None:
        """Complete the rows of workers that run something."""
        asked: dict[str, list[int]] = {}
        for row in workers:
            if row.pid is not None and row.state not in totals.RESTING:
                asked.setdefault(row.node_id, []).append(row.pid)
        found = self._answered({id: self._actors.agent(id).usage.remote(pids) for id, pids in asked.items()})
        now = time.monotonic()
        self._before = {key: seen for key, seen in self._before.items() if now < seen[1] + _FORGOTTEN_S}
        for row in workers:
            used = found.get(row.node_id, {}).get(row.pid)
            if used is not None and row.pid is not None:
                row.memory_bytes = used[1] // _STEP_BYTES * _STEP_BYTES
                row.cpu_percent = self._percent((row.node_id, row.pid), used[0], now)

    def _percent(self, key: tuple[str, int], cpu_s: float, now: float) -> float | None:
        before = self._before.get(key)
        self._before[key] = cpu_s, now
        if before is None or now <= before[1]:
            return None
        return float(round(max(0.0, cpu_s - before[0]) / (now - before[1]) * 100))


class Ending(Protocol):
    """What ends work of this process."""

    def cancel(self, ref: ObjectRef[object] | ObjectRefGenerator, *, force: bool, recursive: bool) -> None: ...


class Killing(Protocol):
    """What ends actors that this process holds."""

    def kill(self, actor: ActorHandle, *, no_restart: bool) -> None: ...


class RayAnswers:
    """Answers for one process."""

    def __init__(
        self,
        session: RaySession,
        actors: ServiceActors,
        reports: Reports,
        snapshots: Snapshots,
        devices: DeviceMemory,
        submissions: Submissions,
        tasks: Ending,
        made_actors: Killing,
        awaited_group: Callable[[str], str],
    ) -> None:
        self._session = session
        self._actors = actors
        self._reports = reports
        self._snapshots = snapshots
        self._devices = devices
        self._submissions = submissions
        self._cancel = tasks.cancel
        self._kill = made_actors.kill
        self._awaited_group = awaited_group  # the group that a ref of `ready()` waits for, else the id itself

    def explain(self, what: str | None) -> list[Explanation]:
        what = self._awaited_group(what) if what else what
        snapshot = self._snapshots.snapshot(internal=what is not None)
        wanted = what[:48] if what and len(what) == 56 else what
        return [
            *planning.explanations(snapshot, wanted, self._snapshots.autoscaler),
            *planning.group_explanations(snapshot, what, self._snapshots.autoscaler),
        ]

    def probe(self, options: TaskOptions) -> Probe:
        try:
            asked = self._devices.in_fractions(options)
        except ValueError as error:
            return Probe(Verdict.UNKNOWN, str(error))
        if asked is None:
            reason = self._devices.why_no_device_is_large_enough(options)
            return Probe(Verdict.NEVER, f"It cannot start here: {reason}.", reason=reason)
        return planning.probe(self._snapshots.take(metrics=False), asked, self._snapshots.autoscaler)

    def recycle(self) -> int:
        raise exceptions.EngineError(
            "Ray offers no way to end its idle workers. Tasks that ask for a device "
            "run in fresh processes anyway; give others @remote(max_calls=1)."
        )

    def cancel_by_id(self, task_id: str, *, force: bool = False) -> None:
        found = self._submissions.get(id_of(task_id, "a task"))
        ref = found.inner() if found is not None else None
        if ref is None:
            raise ValueError(
                f"Task {task_id} cannot be cancelled from here: only the process that submitted a task and still holds "
                "its ref can cancel it."
            )
        self._cancel(ref, force=force, recursive=True)

    def retry(self, task_id: str) -> str:
        raise ValueError(
            f"Task {task_id} cannot be run again: Ray does not keep failed calls. Call the function again."
        )

    def ref_of(self, task_id: str) -> list[ObjectRef[Any]]:
        raise ValueError(f"Ray gives no ref to task {task_id} by its id: keep the ref that the call returned.")

    def kill_by_id(self, actor_id: str) -> None:
        id = id_of(actor_id, "an actor")
        for each in self._submissions.all():
            if each.about.kind is TaskKind.ACTOR_CREATION and each.actor_id == id:
                handle = each.inner()
                if handle is not None:
                    self._kill(handle, no_restart=True)
                    return
        raise ValueError(f"Actor {actor_id} cannot be ended from here: this process holds no handle of it.")

    def logs(self, task_id: str | None, *, tail: int) -> str:
        session_dir = f"{internals.temporary_folder()}/{internals.session_name()}"
        if task_id:
            self._reports.learn(0)
            note = self._reports.notes.get(task_id[:48])
            if note is None or "worker_id" not in note:
                raise ValueError(
                    f"Task {task_id} is not known here: it has not run yet, or ended before anybody watched."
                )
            asked = [self._actors.agent(note["node_id"]).log_tail.remote(session_dir, note["worker_id"], tail)]
        else:
            alive = [row["NodeID"] for row in ray.nodes() if row["Alive"]]
            asked = [self._actors.agent(node_id).log_tail.remote(session_dir, "", tail) for node_id in alive]
        of_start = [] if task_id else [f"(Ray, at its start) {line}" for line in self._session.lines_of_start[-tail:]]
        return "\n".join([*of_start, *(text for text in ray.get(asked) if text)])

    def await_output(self, timeout_s: float) -> None:
        """Return at once: Ray does not tell when it has shown what a task has printed."""

    def timeline(self) -> list[dict[str, object]]:
        self._snapshots.snapshot()  # reads the newest reports
        self._session.head.check()
        phases: dict[str, list[float]] = self._session.asked_inside("tables", "phases")
        rows = self._snapshots.take(metrics=False, rows=MOST_NOTES).tasks
        # Of a task that still runs, Ray has only the time at which its arguments were read.
        return trace_events.of_rows(
            rows,
            lambda row: f"worker {row.pid or ''}",
            lambda row: phases.get(row.task_id, []) if row.finished_at is not None else [],
        )

    def state(self, kind: type[ListedRow], limit: int) -> list[ListedRow]:
        if kind is ListedObject:
            return msgspec.convert(self._objects()[:limit], type=list[kind])  # type: ignore[valid-type]
        if kind is ListedEnvironment:
            raise exceptions.EngineError(
                "Only Ray's dashboard lists the runtime environments of all nodes. Start Ray with "
                "init(engine='ray', include_dashboard=True), then type `ray list runtime-envs`."
            )
        self._snapshots.snapshot()  # reads the newest reports
        snapshot = self._snapshots.take(metrics=False, rows=MOST_NOTES)
        return planning.state_rows(snapshot, self._snapshots.tables(), kind)[:limit]

    def _objects(self) -> list[dict[str, object]]:
        self._session.head.check()
        return list(self._session.asked_inside("tables", "objects", self._actors.ids()))


# ---- opens the server for observers of this driver, such as the Jupyter server


def opened_server(engine: Engine) -> ObserverServer | None:
    """The server; None, with a warning, if its socket or file cannot be written: the cluster is used nevertheless."""

    def watch(callback: OnSnapshot | None, rows: int) -> None:
        engine.watch(callback, rows=rows, reader="observers")

    server = ObserverServer(engine, watch, DriverFacts("ray", __version__, sys.version.split()[0]))
    try:
        server.open()
    except OSError as error:
        warnings.warn(
            f"The Jupyter server cannot list this cluster: its socket or its file in {sessions.directory()} cannot be "
            f"written ({error.strerror or error}). {sessions.advice(error, 'JUPYTER_RUNTIME_DIR')}.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return server

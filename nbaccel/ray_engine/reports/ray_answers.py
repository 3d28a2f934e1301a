"""What is asked of a Ray cluster beside snapshots: why something waits, what a demand would meet, logs, rows."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
import ray

from nbaccel import __version__, exceptions
from nbaccel.engine import Engine, ListedRow
from nbaccel.handles.ids import id_of
from nbaccel.handles.options import TaskOptions
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.handles.remote import ActorHandle
from nbaccel.ray_engine.reports import planning
from nbaccel.ray_engine.reports.device_rows import DeviceMemory
from nbaccel.ray_engine.reports.reports import MOST_NOTES, Reports
from nbaccel.ray_engine.reports.service_actors import ServiceActors
from nbaccel.ray_engine.reports.snapshots import Snapshots
from nbaccel.ray_engine.session import RaySession, internals
from nbaccel.ray_engine.submission.submissions import Submissions
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views import sessions, trace_events
from nbaccel.views.explanations import Explanation, Probe, Verdict
from nbaccel.views.observer_server import DriverFacts, ObserverServer
from nbaccel.views.snapshot import ListedEnvironment, ListedObject, OnSnapshot


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

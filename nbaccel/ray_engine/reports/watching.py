"""What views ask of a Ray cluster. The actors that answer are started by the first question, never before."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import ray

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles.options import TaskOptions
from nbaccel.ray_engine.reports import group_plans, planning, tracing
from nbaccel.ray_engine.reports.held_lines import HeldLines
from nbaccel.ray_engine.reports.notices import Notices
from nbaccel.ray_engine.reports.output import ClientOutput, Output
from nbaccel.ray_engine.reports.outstanding import Outstanding
from nbaccel.ray_engine.reports.picture import Known, draw, draw_nodes
from nbaccel.views import task_filter
from nbaccel.views.snapshot import Snapshot
from nbaccel.views.task_filter import FoundTasks, TaskFilter

COLLECTOR_TIMEOUT_S = 10.0
ASK_TIMEOUT_S = 5.0
LONGEST_WAIT_S = 20.0
SMALLEST_GAP_S = 0.25
METRICS_EVERY_S = 1.0
MOST_NOTES = 5_000  # of tasks that have ended, as many as the collector keeps
NOTES_AT_ONCE = 500
_OF_ATTEMPT = ("ended_at", "error", "end", "progress")
FIRST_REPORTS_S = 3.0  # processes look every two seconds whether somebody watches

Note = dict[str, Any]


class Watching:
    """Mixed into the engine."""

    def start_watching(self: Any) -> None:
        self._collector: Any = None
        self._starting: tuple[Any, Any] | None = None
        self._glanced: Any = None  # Ray's ref of the collector's answer to come
        self._notes: dict[str, Note] = {}
        self._ended: dict[str, int] = {}
        self._seen = 0
        self._picture_number = 0
        self._began_at = time.time()
        self._agents: dict[str, Any] = {}
        self._watcher: Watcher | None = None
        self._left = False  # the cluster: there will be no further picture
        self._asking = threading.Lock()
        self._held: HeldLines | None = None
        self._output: Output | ClientOutput | None = None
        self._notices: Notices | None = None

    def begin_telling(self: Any) -> None:
        """Of a driver: show what workers print, and say what waits."""
        self._held = HeldLines(self.parent_of, self._ask_for_reports, _last_cell)
        self._output = (ClientOutput if self.through_client else Output)(self._held.show)
        self._output.begin()
        self._notices = Notices(self, Outstanding(reaches_head=not self.through_client))
        self._notices.begin()

    def stop_watching(self: Any) -> None:
        self._left = True
        if self._notices is not None:
            self._notices.stop()
            self._notices = None
        if self._watcher is not None:
            self._watcher.stop(ended=True)
            self._watcher = None
        collector = self._starting[0] if self._starting is not None else self._collector
        if ray.is_initialized():
            if collector is not None:
                from ray.experimental.internal_kv import _internal_kv_del

                _internal_kv_del(self._watched_key(), namespace=self.namespace_of_reports)
                ray.kill(collector)
            for agent in self._agents.values():
                ray.kill(agent)
        self._collector, self._starting, self._agents = None, None, {}
        if self._output is not None and not self._ours:  # Ray takes it off when it ends, and the last lines come then
            self._output.end()
        self._output = None
        if self._held is not None:
            self._held.end()
            self._held = None

    def _ask_for_reports(self: Any) -> None:
        try:
            self.glance()
        except (ray.exceptions.RayError, exceptions.RayError, ConnectionError, RuntimeError):
            return  # the cluster is left, or its head is lost

    def parent_of(self: Any, task_id: str) -> bytes | None:
        """Of the cell of a task, or of the task that submitted it, and so on; None while that is not known."""
        seen: set[str] = set()
        while task_id and task_id not in seen:
            seen.add(task_id)
            parent: bytes | None = self.submissions.parent(bytes.fromhex(task_id))
            if parent is not None:
                return parent
            task_id = self._notes.get(task_id, {}).get("parent") or ""
        return None if engines.cell_source is not None else b""  # outside of notebooks there is no cell to find

    # ---- the small actors

    def _watched_key(self: Any) -> bytes:
        return bytes(self.reporting.watched_key(ray.get_runtime_context().get_job_id()))

    def collector(self: Any) -> Any:
        """The actor that gathers reports; started, and the tasks told of it, when it is first needed."""
        if self._collector is None:
            if self._starting is None:
                self._starting = self._begin_collecting()
            made, first_answer = self._starting  # kept over a timeout: an actor without a handle would end
            ray.get(first_answer, timeout=COLLECTOR_TIMEOUT_S)
            self._collector, self._starting = made, None
        return self._collector

    def _begin_collecting(self: Any) -> tuple[Any, Any]:
        from ray.experimental.internal_kv import _internal_kv_put

        kind = importlib.import_module("nbaccel_in_ray.collector").Collector
        name = self.reporting.collector_name(ray.get_runtime_context().get_job_id())
        options = {
            "name": name,
            "namespace": self.namespace_of_reports,
            "get_if_exists": True,
            "num_cpus": 0,
            **self.shipping.keywords(),
        }
        made = ray.remote(kind).options(**options).remote()
        _internal_kv_put(self._watched_key(), b"1", namespace=self.namespace_of_reports)
        return made, made.since.remote(0, 0)

    def _agent(self: Any, node_id: str) -> Any:
        if node_id not in self._agents:
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            kind = importlib.import_module("nbaccel_in_ray.node_agent").NodeAgent
            place = NodeAffinitySchedulingStrategy(node_id, soft=False)
            options = {"num_cpus": 0, "scheduling_strategy": place, **self.shipping.keywords()}
            self._agents[node_id] = ray.remote(kind).options(**options).remote()
        return self._agents[node_id]

    # ---- the picture

    def snapshot(self: Any) -> Snapshot:
        """What is known now. The first one after tasks were submitted starts the reports: those of tasks that run
        already arrive within two seconds."""
        if self.submissions.all() or self._collector is not None:
            first = self._collector is None
            self.learn(0)
            deadline = time.monotonic() + FIRST_REPORTS_S
            while first and time.monotonic() < deadline and self._unheard_actors():
                self.learn(SMALLEST_GAP_S)
        drawn: Snapshot = self.picture(metrics=False)
        return drawn

    def learn(self: Any, wait_s: float) -> None:
        """Take in what tasks have reported since the last time."""
        self.head.check()
        with self._asking:
            try:
                answer = ray.get(self.collector().since.remote(self._seen, wait_s), timeout=wait_s + ASK_TIMEOUT_S)
            except ray.exceptions.RayActorError:
                self._lose_collector()
                return
            except ray.exceptions.GetTimeoutError:
                return
            self._take(answer)

    def _lose_collector(self: Any) -> None:
        """Its node was lost: another will be started."""
        self._collector, self._starting, self._glanced, self._seen = None, None, None, 0

    def _take(self: Any, answer: tuple[int, list[Note], dict[str, int], list[tuple[Note, Any]]]) -> None:
        seq, notes, ended, briefs = answer
        if seq < self._seen:
            return
        self._seen, self._ended = seq, ended
        for where, packed in briefs:
            for note in self.reporting.expanded(packed, where):
                _join(self._notes, note)
        for note in reversed(notes):  # the latest come first
            _join(self._notes, note)
        if len(self._notes) > MOST_NOTES:
            _forget(self._notes, len(self._notes) - MOST_NOTES + NOTES_AT_ONCE)

    def glance(self: Any) -> bool:
        """Take in what tasks have reported by now and wait for nothing; whether the answer to the last glance is in."""
        if not self._asking.acquire(blocking=False):
            return False
        try:
            return bool(self._glance())
        except ray.exceptions.RayActorError:
            self._lose_collector()
            return False
        finally:
            self._asking.release()

    def _glance(self: Any) -> bool:
        if self._collector is None:
            self._starting = self._starting or self._begin_collecting()
            if not _is_here(self._starting[1]):
                return False
        collector, asked = self.collector(), self._glanced
        if asked is not None and not _is_here(asked):
            return False
        if asked is not None:
            self._take(ray.get(asked))
        self._glanced = collector.since.remote(self._seen, 0)
        return asked is not None

    def is_watched(self: Any) -> bool:
        """Whether tasks report already."""
        return self._collector is not None

    def has_begun(self: Any, task_id: bytes) -> bool:
        """Whether the task has said so."""
        return "started_at" in self._notes.get(task_id.hex(), {})

    def next_news(self: Any) -> Any:
        """Ray's ref of the collector's next answer; None while the collector starts."""
        if self._collector is None:
            return None
        return self._collector.since.remote(self._seen, LONGEST_WAIT_S)

    def picture(self: Any, *, metrics: bool, rows: int = 0) -> Snapshot:
        self._picture_number += 1
        known = Known(
            self.tables(), dict(self._notes), self._ended, self.submissions, self.context(), self.joined is not None
        )
        known.more_rows, known.began_at = rows, self._began_at
        if metrics:
            known.samples = self._samples([row["NodeID"] for row in known.tables["nodes"] if row["Alive"]])
        drawn = draw(known, self._picture_number)
        drawn.published = self.published.rows()
        return drawn

    def tasks(self: Any, wanted: TaskFilter) -> FoundTasks:
        self.snapshot()  # takes in what there is to know
        return task_filter.find(self.picture(metrics=False, rows=MOST_NOTES).tasks, wanted)

    def nodes_only(self: Any) -> Snapshot:
        """What the nodes have in all: enough to tell what can never be met, and one question to Ray."""
        drawn: Snapshot = draw_nodes(ray.nodes())
        return drawn

    def _unheard_actors(self: Any) -> bool:
        """Whether an actor of ours lives whose devices are not known yet."""
        alive = {row["ActorID"] for row in self.tables()["actors"] if row["State"] == "ALIVE"}
        return any(
            each.kind == "actor creation"
            and each.actor_id is not None
            and each.actor_id.hex() in alive
            and "started_at" not in self._notes.get(each.task_id.hex(), {})
            for each in self.submissions.all()
        )

    def tables(self: Any) -> dict[str, Any]:
        self.head.check()
        ask = importlib.import_module("nbaccel_in_ray.tables").tables
        if self.through_client:
            return dict(ray.get(ray.remote(num_cpus=0)(ask).remote()))
        return dict(ask())

    def autoscaler(self: Any) -> dict[str, Any]:
        """What Ray tells of the cluster's autoscaler (see tables)."""
        ask = importlib.import_module("nbaccel_in_ray.tables").autoscaler
        if self.through_client:
            return dict(ray.get(ray.remote(num_cpus=0)(ask).remote()))
        return dict(ask())

    def _samples(self: Any, node_ids: list[str]) -> dict[str, list[Note]]:
        asked = {node_id: self._agent(node_id).devices.remote() for node_id in node_ids}
        ready, _ = ray.wait(list(asked.values()), num_returns=len(asked), timeout=SMALLEST_GAP_S)
        found = {}
        for node_id, ref in asked.items():
            if ref in ready:
                try:
                    found[node_id] = ray.get(ref)
                except ray.exceptions.RayError:
                    self._agents.pop(node_id, None)  # its node is gone
        return found

    def watch(
        self: Any, callback: Callable[[Snapshot | None], None] | None, *, metrics: bool = True, rows: int = 0
    ) -> None:
        if self.in_worker:
            raise exceptions.RaySystemError("Snapshots can be watched from a driver, not from inside a task.")
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
        if callback is not None and self._left:
            callback(None)
        elif callback is not None:
            self._watcher = Watcher(self, callback, metrics=metrics, rows=rows)

    def submitted(self: Any) -> None:
        """Views are told of new tasks before these run."""
        if self._watcher is not None:
            self._watcher.changed.set()

    # ---- questions

    def explain(self: Any, what: str | None) -> list[dict[str, Any]]:
        snapshot = self.snapshot()
        wanted = what[:48] if what and len(what) == 56 else what
        return [
            *planning.explanations(snapshot, wanted, self.autoscaler),
            *group_plans.explanations(snapshot, what, self.autoscaler),
        ]

    def probe(self: Any, options: TaskOptions) -> dict[str, Any]:
        try:
            asked = self.in_fractions(options)
        except ValueError as error:
            return {"verdict": "unknown", "sentence": str(error)}
        if asked is None:
            reason = self.why_no_device_is_large_enough(options)
            return {"verdict": "never", "sentence": f"It can never be met here: {reason}.", "reason": reason}
        return planning.probe(self.picture(metrics=False), asked, self.autoscaler)

    def recycle(self: Any) -> int:
        raise exceptions.EngineError(
            "Ray keeps its idle workers to itself: there is no way to end them by hand. Tasks that ask for a device "
            "run in fresh processes anyway; give others @remote(max_calls=1)."
        )

    def cancel_by_id(self: Any, task_id: str, *, force: bool = False) -> None:
        found = self.submissions.get(bytes.fromhex(task_id))
        ref = found.inner() if found is not None else None
        if ref is None:
            raise ValueError(
                f"Task {task_id} cannot be cancelled from here: only the process that submitted a task and still holds "
                "its ref can tell Ray to."
            )
        self.cancel(ref, force=force, recursive=True)

    def kill_by_id(self: Any, actor_id: str) -> None:
        for each in self.submissions.all():
            if each.kind == "actor creation" and each.actor_id == bytes.fromhex(actor_id):
                handle = each.inner()
                if handle is not None:
                    self.kill(handle, no_restart=True)
                    return
        raise ValueError(f"Actor {actor_id} cannot be ended from here: this process holds no handle of it.")

    def logs(self: Any, task_id: str | None, *, tail: int) -> str:
        session_dir = ray.get_runtime_context().get_temp_dir()
        session_dir = f"{session_dir}/{ray.get_runtime_context().get_session_name()}"
        if task_id:
            self.learn(0)
            note = self._notes.get(task_id[:48])
            if note is None or "worker_id" not in note:
                raise ValueError(
                    f"Task {task_id} is not known here: it has not run yet, or ended before anybody watched."
                )
            asked = [self._agent(note["node_id"]).log_tail.remote(session_dir, note["worker_id"], tail)]
        else:
            alive = [row["NodeID"] for row in ray.nodes() if row["Alive"]]
            asked = [self._agent(node_id).log_tail.remote(session_dir, "", tail) for node_id in alive]
        return "\n".join(text for text in ray.get(asked) if text)

    def timeline(self: Any) -> list[dict[str, Any]]:
        self.learn(0)
        named = [(note, self.submissions.get(bytes.fromhex(note["task_id"]))) for note in list(self._notes.values())]
        notes = ({**note, "name": asked.name} if asked else note for note, asked in named)
        return tracing.events(notes, self._phases())

    def _phases(self: Any) -> dict[str, list[float]]:
        self.head.check()
        ask = importlib.import_module("nbaccel_in_ray.phases").phases
        if self.through_client:
            return dict(ray.get(ray.remote(num_cpus=0)(ask).remote()))
        return dict(ask())

    def state(self: Any, what: str, limit: int) -> list[dict[str, Any]]:
        if what == "objects":
            return list(self._objects())[:limit]
        if what == "runtime_envs":
            raise exceptions.EngineError(
                "Which runtime environments were made is known to the agent of each of Ray's nodes; only Ray's "
                "dashboard gathers it: init(engine='ray', include_dashboard=True), then `ray list runtime-envs`."
            )
        self.snapshot()  # takes in what there is to know
        return planning.state_rows(self.picture(metrics=False, rows=MOST_NOTES), self.tables(), what)[:limit]

    def _objects(self: Any) -> list[dict[str, Any]]:
        self.head.check()
        own = [each._actor_id.binary() for each in (self._collector, *self._agents.values()) if each is not None]
        ask = importlib.import_module("nbaccel_in_ray.objects").objects
        if self.through_client:
            return list(ray.get(ray.remote(num_cpus=0)(ask).remote(own)))
        return list(ask(own))


def _last_cell() -> bytes:
    """Where output goes that belongs to no cell."""
    return engines.cell_source()[1] if engines.cell_source is not None else b""


def _join(notes: dict[str, Note], note: Note) -> None:
    """What is new of a task goes over what was known, and to the end of the line."""
    known = notes.pop(note["task_id"], None)
    if known is not None:
        if note.get("attempt", 0) > known.get("attempt", 0):
            known = {name: value for name, value in known.items() if name not in _OF_ATTEMPT}
        note = {**known, **note}
    notes[note["task_id"]] = note


def _forget(notes: dict[str, Note], number: int) -> None:
    """So many of the tasks that ended longest ago. An actor's devices stand in the note of its constructor."""
    old = (id for id, note in notes.items() if "ended_at" in note and note["kind"] != "actor creation")
    for id in list(islice(old, number)):
        del notes[id]


def _is_here(ref: Any) -> bool:
    return bool(ray.wait([ref], timeout=0)[0])


class Watcher:
    """A thread that calls back with a picture when something has changed, at most four times a second."""

    def __init__(self, engine: Any, callback: Callable[[Snapshot | None], None], *, metrics: bool, rows: int) -> None:
        self.changed = threading.Event()
        self._engine = engine
        self._callback = callback
        self._metrics = metrics
        self._rows = rows
        self._ending = self._cluster_ends = False
        self._thread = threading.Thread(target=self._run, name="nbaccel-watch", daemon=True)
        self._thread.start()

    def stop(self, *, ended: bool = False) -> None:
        """Call back no more; `ended`: but for a last None, since the cluster is left."""
        self._ending = True
        self._cluster_ends = ended
        self.changed.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(ASK_TIMEOUT_S)

    def _run(self) -> None:
        try:
            self._watch()
        except (ray.exceptions.RayError, exceptions.RayError, ConnectionError, RuntimeError):
            self._cluster_ends = True  # Ray's head is gone
        if self._cluster_ends:
            self._callback(None)

    def _watch(self) -> None:
        self._engine.learn(0)
        waiting = None
        while not self._ending:
            self._callback(self._engine.picture(metrics=self._metrics, rows=self._rows))
            time.sleep(SMALLEST_GAP_S)
            if waiting is None:
                waiting = self._engine.next_news()
                if waiting is not None:
                    waiting._on_completed(lambda _answer: self.changed.set())
            self.changed.wait(METRICS_EVERY_S if self._metrics or waiting is None else LONGEST_WAIT_S)
            self.changed.clear()
            if not self._ending and (waiting is None or ray.wait([waiting], timeout=0)[0]):
                waiting = None
                self._engine.learn(0)

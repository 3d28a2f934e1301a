"""The Ray engine: one object for each driver or worker, which keeps the engine's promise with Ray."""

from __future__ import annotations

import atexit
import importlib
import itertools
import os
import signal
from collections.abc import Sequence
from typing import Any

import ray

from nbaccel import engine as engines
from nbaccel.handles.options import InitOptions
from nbaccel.handles.refs import ObjectRef
from nbaccel.ray_engine import orphans, starting
from nbaccel.ray_engine.reports import watching
from nbaccel.ray_engine.reports.cluster import RayCluster
from nbaccel.ray_engine.reports.device_rows import DeviceMemory
from nbaccel.ray_engine.reports.growing import RayGrowing
from nbaccel.ray_engine.reports.history import RayHistory, RayTaskLogs
from nbaccel.ray_engine.reports.reports import Reports
from nbaccel.ray_engine.reports.service_actors import ServiceActors
from nbaccel.ray_engine.reports.snapshots import RayAnswers, Snapshots, opened_server
from nbaccel.ray_engine.reports.watching import DriverNews, SnapshotWatching
from nbaccel.ray_engine.session import HeadWatch, RaySession, internals
from nbaccel.ray_engine.starting import host_and_port
from nbaccel.ray_engine.submission.calls import RayActors, RayTasks
from nbaccel.ray_engine.submission.exports import Exporter, HandleMaker
from nbaccel.ray_engine.submission.groups import RayGroups
from nbaccel.ray_engine.submission.objects import Announce, Bookkeeper, RayObjects
from nbaccel.ray_engine.submission.options_for_ray import Choosing
from nbaccel.ray_engine.submission.shipping import Freshening, Shipping
from nbaccel.ray_engine.submission.submissions import AbandonedStreams, CallFacts, Submissions
from nbaccel.views import sinks
from nbaccel.views.observer_server import ObserverServer
from nbaccel.views.record_book import OwnRecords

_serials = itertools.count(1)


def _adapt_rays_pickling(wanted: bool) -> None:
    importlib.import_module("nbaccel_in_ray.values").send(wanted)
    importlib.import_module("nbaccel_in_ray.values").copy_small(wanted)


class RayEngine:
    """Ray behind nbaccel's promise: a separate object keeps each part of it."""

    name = "ray"

    def __init__(
        self,
        options: InitOptions,
        address: str | None,
        *,
        ours: bool,
        in_worker: bool = False,
        lines_of_start: Sequence[str] = (),
    ) -> None:
        self._session = session = _session(options, address, lines_of_start, ours=ours, in_worker=in_worker)
        self._guard = orphans.begin() if ours and address is None else None
        self._submissions = Submissions()
        self._abandoned = AbandonedStreams()
        self._news: DriverNews | None = None
        self._observer_server: ObserverServer | None = None
        self._published = OwnRecords(changed=lambda: self._watching.changed())
        self.publish, self.ask = self._published.publish, self._published.ask
        freshening = Freshening(session.serial)
        shipping = Shipping(
            freshening,
            joined=address is not None,
            by_task=not ours and not in_worker,
            one_machine=starting.is_worker_of_one() if in_worker else ours and address is None,
        )
        if ours and not in_worker:
            _adapt_rays_pickling(True)
        self._watch_cluster(session, shipping)
        self._keep_submissions(session, freshening, shipping)
        if not in_worker:
            watching.shorten_unread_errors()
            session.head.start()
            atexit.unregister(engines.process_ends)
            atexit.register(engines.process_ends)  # it runs before what Ray has registered when it was imported

    def _watch_cluster(self, session: RaySession, shipping: Shipping) -> None:
        """What is known of the cluster."""
        self.service_actors = actors = ServiceActors(session, shipping.keywords)
        self._reports = reports = Reports(session, actors, self._submissions)
        self._growing = RayGrowing(session, shipping.keywords, lambda: self._snapshots.autoscaler()["scales"])
        growth = None if session.is_of_one_machine else self._growing.facts
        self._snapshots = snapshots = Snapshots(session, actors, reports, self._submissions, self._published, growth)
        self._devices = DeviceMemory(lambda: snapshots.take(metrics=False), actors.agent)
        self._watching = watching = SnapshotWatching(reports, snapshots, in_worker=session.in_worker)
        logs = RayTaskLogs(actors, reports, self._submissions, self._value_of)
        self.history = RayHistory(reports, snapshots, self._published, logs).answer
        self.snapshot = snapshots.shown
        self.tasks = snapshots.tasks
        self.watch = watching.watch

    def _value_of(self, ref: ObjectRef[object]) -> object:
        """The value of a ref that is there."""
        return self.get([ref], 0)

    def _keep_submissions(self, session: RaySession, freshening: Freshening, shipping: Shipping) -> None:
        """What is submitted, and what comes back."""
        stand_ins: dict[bytes, object] = {}  # refs of values that are not in Ray
        handles = HandleMaker(self, through_client=session.through_client)
        exporter = Exporter(session, shipping)
        announce: Announce = self._announce_nested if session.in_worker else self._watching.submitted
        viewers = (self,) if session.in_worker else self._watching.watchers  # a worker's are elsewhere, and not counted
        books = Bookkeeper(self._submissions, handles, self._abandoned, announce, viewers)
        groups = RayGroups(session, handles, shipping, self._snapshots, stand_ins)
        refused, refuses = groups.why_its_group_is_refused, session.refuses_infeasible
        choosing = Choosing(self._snapshots, self._devices, refused, refuses=refuses)
        tasks = RayTasks(session, freshening, choosing, exporter, books)
        actors = RayActors(session, freshening, choosing, exporter, handles, books)
        cluster = RayCluster(session, handles.actor)
        answers = RayAnswers(
            session, self.service_actors, self._reports, self._snapshots, self._devices, self._submissions, tasks,
            actors, groups.awaited_group,
        )  # fmt: skip
        objects = RayObjects(session, handles, self._submissions, self._abandoned, stand_ins, answers.explain)
        # tasks and actors
        self.submit, self.call, self.cancel = tasks.submit, tasks.call, tasks.cancel
        self.create_actor, self.kill = actors.create_actor, actors.kill
        self.get_actor, self.list_named_actors = actors.get_actor, actors.list_named_actors
        self.actor_handle = handles.actor
        # objects and streams
        self.put, self.get, self.wait = objects.put, objects.get, objects.wait
        self.fill, self.call_when_ready, self.was_awaited = (
            objects.fill,
            objects.call_when_ready,
            objects.was_awaited,
        )
        self.ref_gone, self.reduce_ref, self.reduce_actor = objects.ref_gone, objects.reduce_ref, objects.reduce_actor
        self.object_locations, self.only_in_history = objects.object_locations, objects.only_in_history
        self.next_item, self.when_next_item = objects.next_item, objects.when_next_item
        self.close_stream = objects.close_stream
        self.stream_end, self.stream_ready = objects.stream_end, objects.stream_ready
        # the cluster, its groups, and the running code
        self.nodes, self.request_resources = cluster.nodes, self._growing.request_resources
        self.hold_resources = self._growing.hold_resources
        self.expected_growth, self.move_objects = self._growing.expected_growth, self._growing.move_objects
        self.lost = cluster.lost
        self.cluster_resources, self.available_resources = cluster.cluster_resources, cluster.available_resources
        self.create_group, self.remove_group = groups.create_group, groups.remove_group
        self.why_never_placed = groups.why_never_placed
        self.group_ready, self.find_group, self.group_table = groups.group_ready, groups.find_group, groups.group_table
        self.context, self.current_actor = cluster.context, cluster.current_actor
        self.exit_actor, self.report_progress = cluster.exit_actor, cluster.report_progress
        self.expect_imports = cluster.expect_imports
        # questions of views
        self.explain, self.probe, self.recycle = answers.explain, answers.probe, answers.recycle
        self.cancel_by_id, self.kill_by_id = answers.cancel_by_id, answers.kill_by_id
        self.retry, self.ref_of = answers.retry, answers.ref_of
        self.logs, self.timeline, self.state = answers.logs, answers.timeline, answers.state
        self.await_output = answers.await_output

    def begin_news(self) -> None:
        """Of a driver: show what workers print, and say what waits."""
        self._news = DriverNews(self._session, self._reports, self._snapshots, self._submissions)

    def serve_observers(self) -> None:
        """Of a driver: let observers find it, such as the Jupyter server."""
        self._observer_server = opened_server(self)

    def _announce_nested(self, task_id: bytes, about: CallFacts, submitted_at: float, actor_id: bytes | None) -> None:
        """In a worker: the reports of the task that runs here tell views of the one that it has submitted."""
        note = {
            **about.as_row(),
            "task_id": task_id,
            "demand": about.demand,
            "parent": self._parent_task(),
            "submitted_at": submitted_at,
            "submitted_actor": actor_id.hex() if actor_id else None,
        }
        self._session.reporting.reporter.submitted(note)

    def _parent_task(self) -> str | None:
        """The task that runs here, by the id that its user knows: an attempt stands for its supervisor."""
        note = self._session.reporting.reporter.current() or {}
        stands_for: str | None = note.get("stands_for")
        return stands_for or ray.get_runtime_context().get_task_id()

    def shutdown(self) -> None:
        """Leave the cluster. A Ray that init() started ends; one that the program started itself goes on."""
        if self._session.in_worker:
            return
        head = self._session.head
        _adapt_rays_pickling(False)
        if self._observer_server is not None:
            self._observer_server.close()
        watching.stop_unread_errors()
        head.stop()
        self._abandoned.stop()
        if head.lost:
            ray.shutdown()  # before all else: any other question to a dead head waits a minute
        self._stop_watching()
        if self._session.ours:
            ray.shutdown()
        if self._guard is not None:
            self._guard.terminate()
            self._guard.wait()

    def _stop_watching(self) -> None:
        telling, self._news = self._news, None
        if telling is not None:
            telling.stop_noticing()
        self._watching.stop()
        self.service_actors.stop()
        if telling is not None:
            telling.end()


def _session(
    options: InitOptions, address: str | None, lines_of_start: Sequence[str], *, ours: bool, in_worker: bool
) -> RaySession:
    return RaySession(
        options,
        address,
        ours,
        in_worker,
        next(_serials),
        ray.get_runtime_context().namespace,
        HeadWatch(_head_of(address), _lost, ray.shutdown),
        importlib.import_module("nbaccel_in_ray.reporting"),
        lines_of_start,
    )


def _lost(sentence: str) -> None:
    sinks.installed.notice(sinks.Notice("lost", sentence))


_PROMISE: type[engines.Engine] = RayEngine  # mypy compares the class with the promise

os.register_at_fork(after_in_child=lambda: disown(RayEngine))


def _head_of(address: str | None) -> tuple[str, int]:
    """The address of the cluster's head; for Ray Client, that of its server."""
    joined_as_client = address is not None and address.startswith("ray://")
    return host_and_port(address if joined_as_client and address else ray.get_runtime_context().gcs_address)


def of_this_worker() -> RayEngine:
    """The engine of a process that Ray has started: a worker, or the server of Ray Client."""
    in_worker = internals.is_worker()
    engine = RayEngine(InitOptions(), None, ours=False, in_worker=in_worker)
    engines.adopt(engine)
    return engine


# ---- children that the driver's process forks: there, Ray's handlers would end the Ray of the parent
#
# Ray ends the processes that it has started at the interpreter's end and at SIGTERM, which `multiprocessing.Pool`
# sends to its children. A fork inherits both handlers.


def disown(kind: type) -> None:
    """In a forked child: an engine of this class is the parent's, and so is Ray."""
    engine: Any = engines.started()
    if isinstance(engine, kind):
        _take_off_handlers()
    engines.disown(kind)


def _take_off_handlers() -> None:
    worker = internals.worker
    atexit.unregister(worker.shutdown)
    if worker._global_node is not None:
        worker._global_node.kill_all_processes = _end_nothing
    if str(getattr(signal.getsignal(signal.SIGTERM), "__module__", "")).startswith("ray."):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_nothing(*_args: object, **_keywords: object) -> None:
    """In place of what ends Ray's processes: its handler at the interpreter's end is registered without a name."""

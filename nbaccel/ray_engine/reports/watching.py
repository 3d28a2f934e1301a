"""Snapshots for whoever watches a Ray cluster, and lines and notices for a driver that nobody asks."""

from __future__ import annotations

import logging
import re
import threading
import time

import ray

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.ray_engine.reports.notices import Notices, OutstandingWork
from nbaccel.ray_engine.reports.output import ClientOutput, LinesWithoutCell, Output
from nbaccel.ray_engine.reports.reports import ASK_TIMEOUT_S, LONGEST_WAIT_S, Reports
from nbaccel.ray_engine.reports.snapshots import SMALLEST_GAP_S, Snapshots
from nbaccel.ray_engine.session import RaySession, internals
from nbaccel.ray_engine.submission.errors import COLOUR
from nbaccel.ray_engine.submission.submissions import Submissions
from nbaccel.views import totals
from nbaccel.views.snapshot import OnSnapshot, Snapshot

METRICS_EVERY_S = 1.0


class DriverNews:
    """Of a driver: shows what workers print, and says what waits."""

    def __init__(self, session: RaySession, reports: Reports, snapshots: Snapshots, submissions: Submissions) -> None:
        self._reports = reports
        self._ours = session.ours
        self._held = LinesWithoutCell(reports.parent_of, self._ask_for_reports, _last_cell)
        self._output: Output | ClientOutput = (ClientOutput if session.through_client else Output)(self._held.show)
        self._output.begin()
        outstanding = OutstandingWork(reaches_head=not session.through_client)
        self._notices = Notices(submissions, reports, snapshots, outstanding, refuses=session.refuses_infeasible)
        self._notices.begin()

    def stop_noticing(self) -> None:
        """Nothing waits any more."""
        self._notices.stop()

    def end(self) -> None:
        """The cluster is left, or will be in a moment."""
        if not self._ours:  # otherwise Ray ends the output at its shutdown, after the last lines
            self._output.end()
        self._held.end()

    def _ask_for_reports(self) -> None:
        try:
            self._reports.glance()
        except (ray.exceptions.RayError, exceptions.RayError, ConnectionError, RuntimeError):
            return  # this process has left the cluster, or its head is lost


def _last_cell() -> bytes:
    """Where output goes that belongs to no cell."""
    return engines.cell_source()[1] if engines.cell_source is not None else b""


class SnapshotWatching:
    """Calls back with snapshots: for each reader of this process, and beside them for all observers from outside."""

    def __init__(self, reports: Reports, snapshots: Snapshots, *, in_worker: bool) -> None:
        self._reports = reports
        self._snapshots = snapshots
        self._in_worker = in_worker
        self.watchers: dict[str, Watcher] = {}  # by reader
        self._left = False  # this process has left the cluster: no snapshot follows

    def watch(self, callback: OnSnapshot | None, *, metrics: bool = True, rows: int = 0, reader: str = "view") -> None:
        if self._in_worker:
            raise exceptions.RaySystemError("Only a driver can watch snapshots, not a task.")
        before = self.watchers.pop(reader, None)
        if before is not None:
            before.stop()
        if callback is not None and self._left:
            callback(None)
        elif callback is not None:
            self.watchers[reader] = Watcher(self._reports, self._snapshots, callback, metrics=metrics, rows=rows)

    def changed(self) -> None:
        """There is something new to show."""
        for watcher in list(self.watchers.values()):  # another thread may begin or end one
            watcher.changed.set()

    def submitted(self, *_facts: object) -> None:
        """Views are told of new tasks before these run."""
        self.changed()

    def stop(self) -> None:
        """The cluster is left: who watches is told, and nobody watches any more."""
        self._left = True
        while self.watchers:
            self.watchers.popitem()[1].stop(ended=True)


class Watcher:
    """A thread that calls back with a snapshot when something has changed, at most four times a second."""

    def __init__(
        self,
        reports: Reports,
        snapshots: Snapshots,
        callback: OnSnapshot,
        *,
        metrics: bool,
        rows: int,
    ) -> None:
        self.changed = threading.Event()
        self._reports = reports
        self._snapshots = snapshots
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
            self._cluster_ends = True  # Ray's head has gone
        if self._cluster_ends:
            self._callback(None)

    def _tell(self, snapshot: Snapshot) -> None:
        """Unless `stop` came while it was taken, and has waited for that in vain."""
        if not self._ending:
            self._callback(snapshot)

    def _watch(self) -> None:
        self._reports.learn(0)
        waiting = None
        while not self._ending:
            self._tell(totals.capped(self._snapshots.take(metrics=self._metrics, rows=self._rows)))
            time.sleep(SMALLEST_GAP_S)
            if waiting is None:
                waiting = self._reports.next_news()
                if waiting is not None:
                    waiting._on_completed(lambda _answer: self.changed.set())
            self.changed.wait(METRICS_EVERY_S if self._metrics or waiting is None else LONGEST_WAIT_S)
            self.changed.clear()
            if not self._ending and (waiting is None or ray.wait([waiting], timeout=0)[0]):
                waiting = None
                self._reports.learn(0)


# ---- shortens Ray's log of errors that nobody read: in a notebook one line is enough, instead of the whole traceback


_OF_A_TASK = re.compile(r"Unhandled error \(.*?\): ray::(?P<name>.+?)\(\) \(pid=(?P<pid>\d+)[^\n]*\n")
_logger = logging.getLogger(internals.worker.__name__)


class _InOneLine(logging.Filter):
    """Shortens such a record; all other records pass unchanged."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = COLOUR.sub("", record.getMessage())
        found = _OF_A_TASK.match(text)
        if found:
            raised = [line for line in text.splitlines() if line.strip() and not line.startswith(" ")][-1]
            record.args = ()
            record.msg = f"{found['name']} (pid {found['pid']}) failed and nobody asked for its result: {raised}"
        return True


_in_one_line = _InOneLine()


def shorten_unread_errors() -> None:
    """Shorten these records from now on, until `stop`."""
    _logger.addFilter(_in_one_line)


def stop_unread_errors() -> None:
    """Show Ray's own records again."""
    _logger.removeFilter(_in_one_line)

"""What the tasks of a Ray cluster have reported, gathered from the collector: as far as this process has asked."""

from __future__ import annotations

import importlib
import threading
import time
from itertools import islice
from typing import Any, Literal, TypedDict

import ray

from nbaccel import engine as engines
from nbaccel.ray_engine.rays import RaysRef
from nbaccel.ray_engine.reports.service_actors import ServiceActors, is_here
from nbaccel.ray_engine.session import RaySession
from nbaccel.ray_engine.submission.submissions import Submissions

# ---- the records that nbaccel_in_ray sends from a cluster: notes of tasks, samples of devices, Ray's own tables


class Note(TypedDict, total=False):
    """What a task has said of itself; see nbaccel_in_ray.reporting."""

    task_id: str
    name: str
    kind: str
    attempt: int
    started_at: float
    ended_at: float
    end: str  # FAILED or CANCELLED
    error: str  # its first line
    choice: str
    choice_why: str
    devices: dict[str, list[str]]
    assigned: dict[str, float]
    demand: dict[str, float]
    progress: tuple[float, float]
    leak: str
    peak_memory_bytes: int
    actor_id: str | None
    parent: str | None  # the task that submitted this one
    node_id: str
    worker_id: str
    pid: int
    submitted_at: float
    submitted_actor: str | None
    submitter: str | None  # the worker whose task submitted this one
    cancelled_at: float  # when its submitter asked for that
    stands_for: str
    forgotten: bool  # a nested task of which nobody can say any more whether it has begun


class DeviceSample(TypedDict):
    """What a node's agent says of one device."""

    name: str | None
    uuid: str | None
    metrics: dict[str, Any]  # the fields of snapshot.DeviceMetrics


class RaysNode(TypedDict, total=False):
    """A row of ray.nodes()."""

    NodeID: str
    Alive: bool
    NodeName: str
    NodeManagerAddress: str
    NodeManagerHostname: str
    Resources: dict[str, float]
    Labels: dict[str, str]
    DeathReasonMessage: str


class ActorAddress(TypedDict):
    NodeID: str


class ActorFacts(TypedDict):
    """A row of Ray's table of actors, with what nbaccel_in_ray.tables adds."""

    ActorID: str
    State: str
    JobID: str
    Name: str
    Address: ActorAddress
    Pid: int
    StartTime: float
    NumRestarts: int
    class_name: str
    why: str
    out_of_scope: bool
    internal: bool  # nbaccel's own; see nbaccel_in_ray.internals


class JobFacts(TypedDict):
    """A row of Ray's table of jobs."""

    JobID: str
    IsDead: bool
    DriverPid: int
    Entrypoint: str
    StartTime: float


GroupFacts = dict[str, Any]  # a row of placement_group_table(), which users see as it is


class RaysTables(TypedDict):
    """What nbaccel_in_ray.tables reads."""

    nodes: list[RaysNode]
    available: dict[str, dict[str, float]]  # node -> what is free there
    actors: list[ActorFacts]
    workers: dict[str, int | None]  # live workers -> pid
    groups: list[GroupFacts]  # rows of Ray's placement_group_table()
    jobs: list[JobFacts]


# ----


ASK_TIMEOUT_S = 5.0
LONGEST_WAIT_S = 20.0
MOST_NOTES = 5_000  # ended tasks that are kept, as many as the collector keeps
NOTES_AT_ONCE = 500
_OF_ATTEMPT: tuple[Literal["ended_at", "error", "end", "progress"], ...] = ("ended_at", "error", "end", "progress")


class Reports:
    """The notes of the tasks, by their ids; `ended`: how many of each function have ended in each state, as far as they
    were told.
    """

    def __init__(self, session: RaySession, actors: ServiceActors, submissions: Submissions) -> None:
        self._session = session
        self._actors = actors
        self._submissions = submissions
        self.notes: dict[str, Note] = {}
        self.ended: dict[str, dict[str, int]] = {}
        self._seen = 0
        self._asked_at = 0.0
        self._glanced: RaysRef | None = None  # the collector's next answer
        self._asking = threading.Lock()

    def learn(self, wait_s: float) -> None:
        """Take in what tasks have reported since the last time."""
        self._session.head.check()
        with self._asking:
            try:
                answer = ray.get(self._ask(wait_s), timeout=wait_s + ASK_TIMEOUT_S)
            except ray.exceptions.RayActorError:
                self._lose_collector()
                return
            except ray.exceptions.GetTimeoutError:
                return
            self._take(answer)

    def _ask(self, wait_s: float) -> RaysRef:
        """Ray's ref of what is new. The collector then takes it that somebody watches, and tasks report."""
        asked = self._actors.collector().since.remote(self._seen, wait_s)
        self._asked_at = time.monotonic()
        return asked

    def _lose_collector(self) -> None:
        self._actors.lose_collector()
        self._glanced, self._seen = None, 0

    def _take(self, answer: tuple[int, list[Note], dict[str, dict[str, int]], list[tuple[Note, object]]]) -> None:
        seq, notes, ended, briefs = answer
        if seq < self._seen:
            return
        self._seen = seq
        collector_link = importlib.import_module("nbaccel_in_ray.collector_link")
        for where, packed in briefs:
            for note in collector_link.expanded(packed, where):
                _join(self.notes, note)
        for note in reversed(notes):  # newest first
            _join(self.notes, note)
        self.ended = ended  # last: see Snapshots.take
        if len(self.notes) > MOST_NOTES:
            _forget(self.notes, len(self.notes) - MOST_NOTES + NOTES_AT_ONCE)

    def glance(self) -> bool:
        """Take in what tasks have reported by now and wait for nothing; whether the answer to the last glance is in."""
        if not self._asking.acquire(blocking=False):
            return False
        try:
            return self._glance()
        except ray.exceptions.RayActorError:
            self._lose_collector()
            return False
        finally:
            self._asking.release()

    def _glance(self) -> bool:
        if not self._actors.has_begun_collecting():
            return False
        asked = self._glanced
        if asked is not None and not is_here(asked):
            return False
        if asked is not None:
            self._take(ray.get(asked))
        self._glanced = self._ask(0)
        return asked is not None

    def is_watched(self) -> bool:
        """Whether tasks report already: they stop some time after the last question."""
        lasts_s: float = importlib.import_module("nbaccel_in_ray.service_actors").WATCH_LASTS_S
        return self._actors.is_collecting and time.monotonic() < self._asked_at + lasts_s

    def has_begun(self, task_id: bytes) -> bool:
        """Whether the task has said so."""
        return "started_at" in self.notes.get(task_id.hex(), {})

    def next_news(self) -> RaysRef | None:
        """Ray's ref of the collector's next answer; None while the collector starts."""
        if not self._actors.is_collecting:
            return None
        return self._ask(LONGEST_WAIT_S)

    def parent_of(self, task_id: str) -> bytes | None:
        """Of the cell of a task, or of the task that submitted it, and so on; None while that is not known."""
        seen: set[str] = set()
        while task_id and task_id not in seen:
            seen.add(task_id)
            parent = self._submissions.parent(bytes.fromhex(task_id))
            if parent is not None:
                return parent
            task_id = self.notes.get(task_id, {}).get("parent") or ""
        return None if engines.cell_source is not None else b""  # outside of notebooks there is no cell to find


def _join(notes: dict[str, Note], note: Note) -> None:
    """What is new of a task goes over what was known, and to the end of the line."""
    known = notes.pop(note["task_id"], None)
    if known is not None:
        if note.get("attempt", 0) > known.get("attempt", 0):
            for field in _OF_ATTEMPT:
                known.pop(field, None)
        note = known | note
    notes[note["task_id"]] = note


def _forget(notes: dict[str, Note], number: int) -> None:
    """So many of the tasks that ended longest ago. An actor's devices stand in the note of its constructor."""
    old = (id for id, note in notes.items() if "ended_at" in note and note["kind"] != "actor creation")
    for id in list(islice(old, number)):
        del notes[id]

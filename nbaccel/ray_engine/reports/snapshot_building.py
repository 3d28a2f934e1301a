"""A Ray cluster drawn as a Snapshot: Ray's own tables, what tasks have reported, what this process has submitted."""

from __future__ import annotations

import sys
import time

import msgspec

from nbaccel import __version__
from nbaccel.handles.code_facts import CodeFacts
from nbaccel.ray_engine.reports import device_rows, task_rows
from nbaccel.ray_engine.reports.notes import ActorFacts, DeviceSample, Note, RaysNode, RaysTables
from nbaccel.ray_engine.submission.submissions import Submission, Submissions
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views import function_rows
from nbaccel.views.listed import ListedGroup
from nbaccel.views.snapshot import ActorRow, Alert, NodeRow, Runtime, Snapshot, WorkerRow

MOST_DEAD = 10
MOST_LEAKS = 20


class SnapshotFacts(msgspec.Struct):
    """What a snapshot is built from."""

    tables: RaysTables
    notes: dict[str, Note]
    ended: dict[str, dict[str, int]]  # function -> state -> the number of tasks that ended in it since watching began
    submissions: Submissions
    context: CodeFacts  # the driver's facts
    shared: bool
    samples: dict[str, list[DeviceSample]] = {}  # node -> its agent's measurements of its devices
    more_rows: int = 0
    began_at: float = 0.0  # when this process came to the cluster, in Unix seconds
    internal: bool = False  # what nbaccel runs for itself is shown, too
    lost_at: dict[str, float] = {}  # node -> when it was first seen to be gone, in Unix seconds

    @property
    def job(self) -> int:
        return job_number(self.context.job_id)


def build(known: SnapshotFacts, seq: int) -> Snapshot:
    """The whole snapshot."""
    nodes = [_node(row, known.tables["available"]) for row in known.tables["nodes"]]
    tasks = task_rows.rows(known, {node.node_id for node in nodes if node.alive})
    actors = _actors(known)
    numbers = list(task_rows.numbers(tasks, known.ended))
    counts = task_rows.counts(numbers)
    shown = task_rows.shown(tasks, known.more_rows)
    failures = Alert.of_failures(counts, task_rows.last_failed(tasks), known.began_at)
    snapshot = Snapshot(
        runtime=_runtime(known),
        seq=seq,
        time=time.time(),
        nodes=nodes,
        devices=device_rows.rows(nodes, tasks, actors, known),
        tasks=shown,
        actors=actors,
        workers=_workers(known),
        groups=[ListedGroup.of_ray(row).in_snapshot() for row in known.tables["groups"]][-50:],
        alerts=[*_lost(nodes, known.lost_at), *_leaks(known), *failures],
        counts=counts,
        functions=function_rows.rows(((name, state, number) for name, state, number in numbers if name), shown),
    )
    task_rows.say_why(snapshot)
    return snapshot


def build_of_nodes(rows: list[RaysNode]) -> Snapshot:
    """The nodes and their devices, as if all were free."""
    available = {row["NodeID"]: row["Resources"] for row in rows}
    nodes = [_node(row, available) for row in rows]
    return Snapshot(Runtime("ray", __version__, sys.version.split()[0]), nodes=nodes, devices=device_rows.unheld(nodes))


def _runtime(known: SnapshotFacts) -> Runtime:
    context = known.context
    return Runtime(
        engine="ray",
        version=__version__,
        python=sys.version.split()[0],
        session=context.session_name,
        address=context.address,
        shared=known.shared,
        job=known.job,
        log_dir=f"{context.session_dir}/{context.session_name}/logs",
    )


def _node(row: RaysNode, available: dict[str, dict[str, float]]) -> NodeRow:
    totals = dict(row["Resources"])
    return NodeRow(
        row["NodeID"],
        row.get("NodeName") or row["NodeManagerHostname"],
        row["Alive"],
        "node:__internal_head__" in totals,
        _without_names(totals),
        _without_names(available.get(row["NodeID"], {})) if row["Alive"] else {},
        dict(row.get("Labels") or {}),
        row["NodeManagerAddress"],
        "" if row["Alive"] else row.get("DeathReasonMessage") or "it was lost",
    )


def _without_names(quantities: dict[str, float]) -> dict[str, float]:
    """Without the resources by which Ray names its nodes."""
    return {name: amount for name, amount in quantities.items() if not name.startswith("node:")}


def job_number(job_id: str) -> int:
    """Of a job's id, as Ray writes it."""
    return int.from_bytes(bytes.fromhex(job_id), "little")


def _lost(nodes: list[NodeRow], lost_at: dict[str, float]) -> list[Alert]:
    """Alerts of nodes that are gone. Ray's table does not say since when."""
    gone = [node for node in nodes if not node.alive]
    for node in gone:
        lost_at.setdefault(node.node_id, time.time())
    return [
        Alert(
            "node lost",
            f"Node {node.name} ({node.node_id[:8]}) is gone: {node.why}.",
            lost_at[node.node_id],
            node_id=node.node_id,
        )
        for node in gone
    ]


def _leaks(known: SnapshotFacts) -> list[Alert]:
    """Device memory that tasks have left in processes that were then replaced."""
    notes = [note for note in known.notes.values() if "leak" in note][-MOST_LEAKS:]
    alerts = []
    for note in notes:
        asked = known.submissions.get(bytes.fromhex(note["task_id"]))
        who = f"{note['name']} (cell {asked.cell})" if asked is not None and asked.cell else note["name"]
        device = next(iter(note.get("devices", {}).values()), [None])[0]
        message = f"{who}{note['leak'].removeprefix(note['name'])}"
        alerts.append(Alert("leak", message, note["ended_at"], note["task_id"], device, note.get("node_id")))
    return alerts


def _actors(known: SnapshotFacts) -> list[ActorRow]:
    shown = [row for row in known.tables["actors"] if known.internal or not row["internal"]]
    alive = [row for row in shown if row["State"] != "DEAD"]
    dead = [row for row in shown if row["State"] == "DEAD"]
    creations = {
        note["actor_id"]: note
        for note in known.notes.values()
        if note["kind"] == "actor creation" and note.get("actor_id")
    }
    asked = {
        each.actor_id.hex(): each
        for each in known.submissions.all()
        if each.actor_id and each.about.kind is TaskKind.ACTOR_CREATION
    }
    return [
        _actor(row, creations.get(row["ActorID"], {}), asked.get(row["ActorID"]))
        for row in alive[-100:] + dead[-MOST_DEAD:]
    ]


def _actor(row: ActorFacts, note: Note, asked: Submission | None) -> ActorRow:
    state = "PENDING_CREATION" if row["State"] == "DEPENDENCIES_UNREADY" else row["State"]
    return ActorRow(
        actor_id=row["ActorID"],
        class_name=row["class_name"],
        state=state,
        job=job_number(row["JobID"]),
        name=row["Name"],
        demand=_held(asked, state) if asked is not None else dict(note.get("assigned") or {}),
        device_ids=note.get("devices") or {},
        node_id=row["Address"]["NodeID"] or None,
        worker_id=note.get("worker_id"),
        pid=row["Pid"] or note.get("pid"),
        cell=asked.cell if asked is not None else "",
        since=row["StartTime"] / 1000 if row["StartTime"] else None,
        restarts=row["NumRestarts"],
        why=row["why"] if state == "DEAD" else "",
        choice=note.get("choice") or (asked.about.choice if asked is not None else ""),
        choice_why=note.get("choice_why") or (asked.about.choice_why if asked is not None else ""),
    )


def _held(asked: Submission, state: str) -> dict[str, float]:
    """What an actor asks for to be placed may be more than what it then holds for life."""
    return asked.about.demand if state in ("PENDING_CREATION", "RESTARTING") else asked.about.held


def _workers(known: SnapshotFacts) -> list[WorkerRow]:
    """Those that live: Ray's table knows which, the notes know what they do."""
    last: dict[str, Note] = {}
    for note in known.notes.values():
        worker_id = note.get("worker_id")
        if worker_id and ("ended_at" not in note or worker_id not in last):
            last[worker_id] = note
    only = {row["NodeID"] for row in known.tables["nodes"] if row["Alive"]}
    somewhere = next(iter(only)) if len(only) == 1 else ""
    rows = []
    for worker_id, pid in known.tables["workers"].items():
        note = last.get(worker_id, {})
        busy = bool(note) and "ended_at" not in note
        state = "ACTOR" if note.get("actor_id") else "BUSY" if busy else "IDLE"
        rows.append(
            WorkerRow(
                worker_id,
                pid or note.get("pid"),
                note.get("node_id") or somewhere,
                state,
                note.get("name", "") if busy else "",
                bool(note),
            )
        )
    return rows

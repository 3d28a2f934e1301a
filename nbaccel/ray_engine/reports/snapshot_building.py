"""A Ray cluster drawn as a Snapshot: Ray's own tables, what tasks have reported, what this process has submitted."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import ray

from nbaccel import __version__
from nbaccel.handles.code_facts import CodeFacts
from nbaccel.quantities import LONG_RUN_S
from nbaccel.ray_engine.reports import device_rows, planning
from nbaccel.ray_engine.reports.reports import ActorFacts, DeviceSample, Note, RaysNode, RaysTables
from nbaccel.ray_engine.session import internals
from nbaccel.ray_engine.submission.submissions import Submission, Submissions
from nbaccel.scheduling.terms import TaskFacts, TaskKind
from nbaccel.views import task_lines, wording
from nbaccel.views.snapshot import ActorRow, Alert, ListedGroup, NodeRow, Runtime, Snapshot, TaskRow, WorkerRow

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
    tasks = rows(known, {node.node_id for node in nodes if node.alive})
    actors = _actors(known)
    numbers = list(numbers_of(tasks, known.ended))
    counts = counts_of(numbers)
    shown = shown_rows(tasks, known.more_rows)
    failures = Alert.of_failures(counts, last_failed(tasks), known.began_at)
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
        functions=task_lines.rows_of_functions(
            ((name, state, number) for name, state, number in numbers if name), shown
        ),
    )
    say_why(snapshot)
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


# ---- the tasks of a Ray cluster as rows: notes of those that have begun, submissions of those that have not


MOST_RUNNING, MOST_WAITING, MOST_ENDED = 50, 20, 20
MOST_FAILED = 50  # the newest failures and long runs stay, however many tasks end after them
MOST_ASKED = 500  # the most refs that Ray checks for readiness
MOST_EXPLAINED = 5
# Explanations of Ray's error types, for tasks without a report of their own.
UNREPORTED = {
    "TASK_EXECUTION_EXCEPTION": "it raised an error, which get() raises here",
    "TASK_CANCELLED": "cancelled",
    "WORKER_DIED": "its worker process died before it returned",
}
NO_REPORT = "its process ended or it was cancelled before it could report; get() raises the error"
REPORTS_COME_S = 60.0  # a task's report comes within this time or never
_ENDED = ("FINISHED", "FAILED", "CANCELLED")
_PENDING_ACTOR = ("DEPENDENCIES_UNREADY", "PENDING_CREATION", "RESTARTING")


def rows(known: SnapshotFacts, nodes_alive: set[str]) -> list[TaskRow]:
    """All that are known of, those that changed last at the end."""
    shown = [each for each in known.submissions.all() if not each.about.internal or _is_asked_for(each, known)]
    waiting = [each for each in shown if "started_at" not in known.notes.get(each.task_id.hex(), {})]
    ready = _ready(waiting)
    actors = {row["ActorID"]: row["State"] for row in known.tables["actors"]}
    made = [_of_note(note, known, nodes_alive) for note in _worth_a_row(known)]
    _set_untold_ends(made, known)
    made += [row for each in waiting if (row := _of_submission(each, ready, actors, known)) is not None]
    nested = [note for note in known.notes.values() if "started_at" not in note and not _mine(note, known)]
    made += [row for note in nested if (row := _nested(note, actors, known)) is not None]
    return made


def _is_asked_for(each: Submission, known: SnapshotFacts) -> bool:
    """Whether an internal submission has a row: an actor that waits; of a call nobody hears whether it has begun."""
    return known.internal and each.about.kind is TaskKind.ACTOR_CREATION


def _worth_a_row(known: SnapshotFacts) -> list[Note]:
    """Of tasks that have begun: all that run, and as many of the last that have ended as a view may show."""
    begun = [note for note in known.notes.values() if "started_at" in note]
    ended = sorted((note for note in begun if "ended_at" in note), key=lambda note: note["ended_at"])
    most = max(MOST_ENDED, known.more_rows)
    kept = [
        note for note in ended[:-most] if note.get("end") == "FAILED" or is_long(note["started_at"], note["ended_at"])
    ]
    return [note for note in begun if "ended_at" not in note] + kept[-MOST_FAILED:] + ended[-most:]


def is_long(started_at: float | None, ended_at: float | None) -> bool:
    """Whether a run took so long that somebody may wait for its notice."""
    return started_at is not None and ended_at is not None and ended_at - started_at >= LONG_RUN_S


def _mine(note: Note, known: SnapshotFacts) -> bool:
    return known.submissions.get(bytes.fromhex(note["task_id"])) is not None


def _ready(waiting: list[Submission]) -> dict[bytes, str]:
    """Tasks whose refs we still hold and whose values are there ("") or their errors (Ray's word)."""
    calls = [each for each in waiting[-MOST_ASKED:] if each.about.kind is not TaskKind.ACTOR_CREATION]
    held = [(each.task_id, ref) for each in calls if (ref := each.inner()) is not None]
    refs = {ref._inner: task_id for task_id, ref in held if isinstance(ref._inner, ray.ObjectRef)}
    if not refs:
        return {}
    done, _ = ray.wait(list(refs), num_returns=len(refs), timeout=0, fetch_local=False)
    return {refs[ref]: internals.error_type(ref) for ref in done}


def _of_note(note: Note, known: SnapshotFacts, nodes_alive: set[str]) -> TaskRow:
    asked = known.submissions.get(bytes.fromhex(note["task_id"]))
    row = _row(note, asked, known, "RUNNING")
    row.demand = row.demand or note.get("assigned") or {}
    row.device_ids = _devices(note, known)
    row.node_id, row.worker_id, row.pid = note.get("node_id"), note.get("worker_id"), note.get("pid")
    row.actor_id = note.get("actor_id")
    row.started_at, row.finished_at, row.attempt = note["started_at"], note.get("ended_at"), note["attempt"]
    row.peak_memory_bytes, row.progress = note.get("peak_memory_bytes"), _pair(note.get("progress"))
    _set_end(row, note, asked.error if asked is not None else "", known, nodes_alive)
    return row


def _row(note: Note, asked: Submission | None, known: SnapshotFacts, state: str) -> TaskRow:
    """What is known of every task: from its note, and from its submission if that was here."""
    noted: Mapping[str, Any] = note
    facts = {name: noted[name] for name in TaskFacts.__struct_fields__ if name in noted}
    return TaskRow(
        **(facts if asked is None else asked.about.as_row()),
        task_id=note["task_id"],
        state=state,
        job=known.job,
        demand=note.get("demand") or (asked.about.demand if asked is not None else {}),
        parent_task_id=note.get("parent"),
        cell=_cell(note, known),
        submitted_at=asked.submitted_at if asked is not None else note.get("submitted_at"),
        choice=note.get("choice") or (asked.about.choice if asked is not None else ""),
        choice_why=note.get("choice_why") or (asked.about.choice_why if asked is not None else ""),
    )


def _pair(progress: tuple[float, float] | None) -> tuple[float, float] | None:
    """As a tuple: what has travelled may be a list."""
    return (progress[0], progress[1]) if progress else None


def _set_end(row: TaskRow, note: Note, raised_here: str, known: SnapshotFacts, nodes_alive: set[str]) -> None:
    """The state of a task that said it began; one whose process is gone cannot say that it ended."""
    if "error" in note and "ended_at" in note:
        row.state, row.why = note["end"], note["error"]
        row.error_type = "TASK_CANCELLED" if row.state == "CANCELLED" else "TASK_EXECUTION_EXCEPTION"
    elif "ended_at" in note:
        row.state = "FINISHED"
    elif raised_here:  # get() was faster than the report of the end
        is_cancel = raised_here.partition(":")[0].endswith("CancelledError")
        row.state, row.why = "CANCELLED" if is_cancel else "FAILED", raised_here
        row.error_type = "TASK_CANCELLED" if is_cancel else "TASK_EXECUTION_EXCEPTION"
    elif row.node_id not in nodes_alive:
        row.state, row.why, row.error_type = "FAILED", f"its node {(row.node_id or '')[:8]} was lost", "NODE_DIED"
    elif row.worker_id not in known.tables["workers"]:
        why = f"its worker (pid {row.pid}) has ended before it returned"
        row.state, row.why, row.error_type = "FAILED", why, "WORKER_DIED"


def _set_untold_ends(rows: list[TaskRow], known: SnapshotFacts) -> None:
    """Of tasks that have not said how they did, or not yet, their refs tell; of a process that has ended, so does an
    actor's good end.
    """
    untold = [row for row in rows if row.state == "RUNNING" or row.error_type in ("NODE_DIED", "WORKER_DIED")]
    if not untold:
        return
    asked = [each for row in untold if (each := known.submissions.get(bytes.fromhex(row.task_id))) is not None]
    ready = _ready(asked)
    ended_well = {row["ActorID"] for row in known.tables["actors"] if row["State"] == "DEAD" and row["out_of_scope"]}
    for row in untold:
        state = ready.get(bytes.fromhex(row.task_id))
        if row.state == "RUNNING":
            if state is not None:  # it was told of as one that has ended before its process said that it began
                row.state = "CANCELLED" if state == "TASK_CANCELLED" else "FAILED" if state else "FINISHED"
                row.why, row.error_type = UNREPORTED.get(state, NO_REPORT) if state else "", state
        elif state == "" or (state is None and row.actor_id in ended_well):
            row.state, row.why, row.error_type = "FINISHED", "", ""
        elif state == "TASK_CANCELLED":  # with force=True, which ends the process
            row.state, row.why, row.error_type = "CANCELLED", UNREPORTED[state], state


def _devices(note: Note, known: SnapshotFacts) -> dict[str, list[str]]:
    if note.get("devices") or note["kind"] != "actor call":
        return note.get("devices") or {}
    creation = known.notes.get("ff" * 8 + (note.get("actor_id") or ""), {})
    return creation.get("devices") or {}


def _cell(note: Note, known: SnapshotFacts) -> str:
    """The cell of the task, or of the one that submitted it, and so on up to the notebook."""
    seen: set[str] = set()
    task_id: str | None = note["task_id"]
    while task_id and task_id not in seen:
        seen.add(task_id)
        asked = known.submissions.get(bytes.fromhex(task_id))
        if asked is not None:
            return asked.cell
        task_id = known.notes.get(task_id, {}).get("parent")
    return ""


def _of_submission(
    each: Submission, ready: dict[bytes, str], actors: dict[str, str], known: SnapshotFacts
) -> TaskRow | None:
    """A task that has not said that it began; None when nothing of it can be known any more."""
    state = _state(each, ready, actors)
    if state is None:
        made = (
            each.about.kind is TaskKind.ACTOR_CREATION and each.actor_id is not None and each.actor_id.hex() in actors
        )
        # An actor's cell and demand are needed as long as Ray knows the actor; a task's only until it reports.
        if not made and time.time() > each.submitted_at + REPORTS_COME_S:
            known.submissions.forget(each.task_id)
        return None
    row = _row({"task_id": each.task_id.hex()}, each, known, state)
    row.actor_id = each.actor_id.hex() if each.actor_id else None
    row.error_type = ready.get(each.task_id, "")
    if state in ("FAILED", "CANCELLED"):
        row.why = each.error or UNREPORTED.get(row.error_type, NO_REPORT)
    return row


def _state(each: Submission, ready: dict[bytes, str], actors: dict[str, str]) -> str | None:
    if each.about.kind is TaskKind.ACTOR_CREATION:
        state = actors.get(each.actor_id.hex() if each.actor_id else "", "")
        return "PENDING_NODE_ASSIGNMENT" if state in _PENDING_ACTOR else None
    if each.inner() is None:
        return None
    if each.task_id in ready:
        error = ready[each.task_id]
        return "CANCELLED" if error == "TASK_CANCELLED" else "FAILED" if error else "FINISHED"
    return "PENDING_NODE_ASSIGNMENT" if each.about.kind is TaskKind.TASK else "SUBMITTED_TO_WORKER"


def _state_of_nested(note: Note, actors: dict[str, str], known: SnapshotFacts) -> str | None:
    """If its actor or its submitter has ended, it may have run, and the end came before its report: None."""
    if "name" not in note or note.get("forgotten"):
        return None  # its submitter's first note was lost, or that of its run
    if "cancelled_at" in note or known.notes.get(note.get("parent") or "", {}).get("end") == "CANCELLED":
        return "CANCELLED"
    is_old = time.time() > note["submitted_at"] + REPORTS_COME_S
    actor, submitter = note.get("submitted_actor"), note.get("submitter")
    if actor is not None and actors.get(actor, "DEAD" if is_old else "") == "DEAD":
        return None
    if submitter is not None and submitter not in known.tables["workers"]:
        return None
    return "PENDING_NODE_ASSIGNMENT" if note["kind"] != "actor call" else "SUBMITTED_TO_WORKER"


def _nested(note: Note, actors: dict[str, str], known: SnapshotFacts) -> TaskRow | None:
    """A task that another has submitted and that has not begun; None when nothing of it can be known any more."""
    state = _state_of_nested(note, actors, known)
    if state is None:
        return None
    row = _row(note, None, known, state)
    row.actor_id = note.get("submitted_actor")
    if state == "CANCELLED":
        row.error_type, row.why = "TASK_CANCELLED", UNREPORTED["TASK_CANCELLED"]
    return row


def shown_rows(tasks: Iterable[TaskRow], more: int = 0) -> list[TaskRow]:
    """As many of each kind as a view shows: running, waiting, ended; `more` where a view asks for more."""
    running: list[TaskRow] = []
    waiting: list[TaskRow] = []
    ended: list[TaskRow] = []
    for row in tasks:
        (running if row.state == "RUNNING" else ended if row.state in _ENDED else waiting).append(row)
    ended.sort(key=planning.ended_at)
    most = max(MOST_ENDED, more)
    kept = [row for row in ended[:-most] if row.state == "FAILED" or is_long(row.started_at, row.finished_at)]
    newest = kept[-MOST_FAILED:] + ended[-most:]
    return running[: max(MOST_RUNNING, more)] + _of_each(waiting, max(MOST_WAITING, more)) + newest


def _of_each(waiting: list[TaskRow], most: int) -> list[TaskRow]:
    """So many of those that wait: at first one of each function and demand, so that each has its line in views."""
    if len(waiting) <= most:
        return waiting
    first: dict[tuple[str, str], TaskRow] = {}
    for row in waiting:
        first.setdefault((task_lines.subject(row), wording.demand(row.demand)), row)
    shown = {row.task_id: row for row in [*list(first.values())[:most], *waiting[: max(0, most - len(first))]]}
    return list(shown.values())


def last_failed(tasks: Iterable[TaskRow]) -> TaskRow | None:
    """The task that failed last; None where no row is of one that failed."""
    return max((row for row in tasks if row.state == "FAILED"), key=planning.ended_at, default=None)


def numbers_of(tasks: Iterable[TaskRow], ended: dict[str, dict[str, int]]) -> Iterator[tuple[str, str, int]]:
    """(function, state, number) of all tasks: those that have ended are counted by the collector, which may have
    forgotten their rows."""
    for function, states in ended.items():
        yield from ((function, state, number) for state, number in states.items() if number)
    for row in tasks:
        if row.state not in _ENDED or row.finished_at is None:
            yield task_lines.subject(row), row.state, 1


def counts_of(numbers: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """How many tasks there are in each state."""
    found: dict[str, int] = {}
    for _function, state, number in numbers:
        found[state] = found.get(state, 0) + number
    return found


def say_why(snapshot: Snapshot) -> None:
    """The reason of the first tasks that wait for resources."""
    waiting = [row for row in snapshot.tasks if row.state == "PENDING_NODE_ASSIGNMENT"]
    for row in waiting[:MOST_EXPLAINED]:
        row.why = planning.waiting(snapshot, row).sentence

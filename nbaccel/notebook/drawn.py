"""The part of a snapshot that the cockpit gets: the fields that it draws, without those at their defaults.

The records have the snapshot's own names, so a page can read an observer's whole snapshot too. Repeated values are
sent once: a reason that many tasks share, the only node's id. Eight devices and twenty tasks stay under 8 KB, so that a
whole snapshot can be sent at every change.
"""

from __future__ import annotations

from itertools import chain
from types import NoneType
from typing import Any, TypeVar

import msgspec

from nbaccel.quantities import LONG_RUN_S, TYPE_PREFIX
from nbaccel.views import palette, totals
from nbaccel.views.palette import HUES
from nbaccel.views.snapshot import Alert, FunctionRow, Snapshot, TaskRow
from nbaccel.views.tables import ENDED
from nbaccel.views.task_filter import FoundTasks
from nbaccel.views.task_lines import MOST_OF_ONE

FEW_ROWS = 16  # devices and tasks together; up to this number, rows may be sent as they are
MOST_BYTES_OF_FEW = 4_096  # of a snapshot that is sent so: a larger message costs more than its packing
MOST_BYTES = 16_000  # the size limit of any other, unless more rows were asked for
LEAST_BYTES_OF_TASKS = 2_000  # whatever takes the room of them: a thousand devices, many alerts
MOST_TASKS = 200  # a filter may ask for more, and gets them
MOST_WHY = 400  # characters of a reason, which may name every holder of every device
MOST_NODES = 64  # of a cluster of which a snapshot has not all rows
LEAST_TILES = 16  # of such a cluster, whatever takes the room of them
_NOT_SHOWN = ("node:", TYPE_PREFIX, "memory", "object_store_memory", "bundle_")


class DrawnHolder(msgspec.Struct, omit_defaults=True):
    name: str
    amount: float = 1.0
    task_id: str | None = None
    actor_id: str | None = None
    pid: int | None = None
    cell: str = ""
    since: float | None = None
    job: int = 0
    function: str = ""  # or class, if it differs from the name: it decides the colour


class DrawnMetrics(msgspec.Struct, omit_defaults=True):
    utilisation_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_celsius: float | None = None
    power_watts: float | None = None


class DrawnDevice(msgspec.Struct, omit_defaults=True):
    resource: str
    id: str
    kind: str = "real"
    node_id: str = ""  # "" when there is one node
    family: str = ""  # if there is neither a name nor a type
    type: str | None = None  # if there is no name
    name: str = ""
    parent: str | None = None
    profile: str | None = None
    offered: bool = True
    memory_bytes: int | None = None
    free: float = 1.0
    free_reason: str = ""
    holders: list[DrawnHolder] = []
    metrics: DrawnMetrics | None = None


class DrawnNode(msgspec.Struct, omit_defaults=True):
    node_id: str
    name: str
    alive: bool = True
    is_head: bool = False
    totals: dict[str, float] = {}
    available: dict[str, float] = {}
    why: str = ""
    idle_since: float | None = None
    leaves_at: float | None = None
    kept_by: str = ""


class DrawnNodeType(msgspec.Struct, omit_defaults=True):
    name: str
    resources: dict[str, float] = {}
    given_up: bool = False


class DrawnArrival(msgspec.Struct, omit_defaults=True):
    id: str
    node_type: str
    state: str = "arriving"
    since: float = 0.0
    usually_s: float | None = None


class DrawnTask(msgspec.Struct, omit_defaults=True):
    task_id: str
    name: str
    state: str
    kind: str = "task"
    function: str = ""  # if it differs from the name: it decides the colour
    job: int = 0  # 0 for tasks of this notebook
    demand: dict[str, float] = {}
    device_ids: dict[str, list[str]] = {}
    node_id: str | None = None
    pid: int | None = None
    actor_id: str | None = None
    cell: str = ""
    submitted_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    why: str = ""
    reason: int | None = None  # the index of `why` in the snapshot's reasons
    choice: str = ""
    peak_memory_bytes: int | None = None
    progress: tuple[float, float] | None = None
    retryable: bool = False
    retry_of: str = ""


class DrawnFunction(msgspec.Struct, omit_defaults=True):
    name: str
    running: int = 0
    waiting: int = 0
    failed: int = 0
    cancelled: int = 0
    finished: int = 0


class DrawnActor(msgspec.Struct, omit_defaults=True):
    actor_id: str
    class_name: str
    state: str
    job: int = 0
    name: str = ""
    device_ids: dict[str, list[str]] = {}
    pid: int | None = None
    cell: str = ""
    since: float | None = None
    restarts: int = 0
    pending_calls: int = 0
    why: str = ""


class DrawnRuntime(msgspec.Struct, omit_defaults=True):
    engine: str
    version: str
    pid: int | None = None
    shared: bool = False


class DrawnJob(msgspec.Struct):
    number: int
    name: str


class DrawnCount(msgspec.Struct, omit_defaults=True):
    resource: str
    total: int = 0
    held: int = 0
    taken: int = 0
    shared: int = 0
    most_free: float = 0.0
    least_free: float = 0.0
    logical: int = 0
    simulated: int = 0


class Drawn(msgspec.Struct, omit_defaults=True):
    """The cockpit's message. The last three fields are sent where nodes or devices are without rows."""

    runtime: DrawnRuntime
    seq: int = 0
    time: float = 0.0
    nodes: list[DrawnNode] = []
    arrivals: list[DrawnArrival] = []
    node_types: list[DrawnNodeType] = []  # where there is no device: which nodes could bring some
    devices: list[DrawnDevice] = []
    tasks: list[DrawnTask] = []
    functions: list[DrawnFunction] = []  # those with many tasks (one row, which opens) or with several that wait
    reasons: list[str] = []
    hues: dict[str, int] = {}  # colours of functions and classes that differ from the one their name gives
    actors: list[DrawnActor] = []
    alerts: list[Alert] = []
    counts: dict[str, int] = {}
    actor_counts: dict[str, int] = {}
    jobs: list[DrawnJob] = []  # other notebooks whose tasks, actors and holders are shown
    found: list[str] = []
    ended: bool = False
    died: bool = False  # it ended by itself or was killed; nobody shut it down from here
    node_counts: dict[str, int] = {}
    device_counts: list[DrawnCount] = []
    resources: dict[str, tuple[float, float]] = {}


class DrawnRows:
    """The drawn rows of tasks, kept from one snapshot to the next: most rows of a large one stay as they are."""

    def __init__(self) -> None:
        self._known: dict[bytes, DrawnTask] = {}  # by the row's content; without rows that share a reason with others
        self._about: object = None  # what else they depend on

    def of(self, rows: list[TaskRow], strangers: set[int], one_node: bool) -> tuple[list[DrawnTask], list[str]]:
        """(the drawn rows, the reasons to which they refer)."""
        about = (frozenset(strangers), one_node)
        before = self._known if about == self._about else {}
        self._known, self._about = {}, about
        reasons: dict[str, int] = {}
        drawn = []
        for row in rows:
            content = _encoded(row)
            task = before.get(content)
            if task is None:
                task = msgspec.convert(row, DrawnTask, from_attributes=True)
                task.job = task.job if task.job in strangers else 0
                _shorten_task(task, one_node, reasons)
            if task.reason is None:
                self._known[content] = task
            drawn.append(task)
        return drawn, list(reasons)


Amount = TypeVar("Amount")
_encoded = msgspec.msgpack.Encoder().encode
_json = msgspec.json.Encoder().encode


def of_snapshot(snapshot: Snapshot, rows: DrawnRows | None = None) -> Drawn:
    """The part of a snapshot that is drawn; `rows` are those of the snapshot before."""
    kept = msgspec.structs.replace(snapshot, tasks=[], functions=_many(snapshot.functions))
    if totals.more_devices(snapshot) or totals.more_nodes(snapshot):
        kept.nodes, kept.devices = totals.fewer(snapshot.nodes, snapshot.devices, MOST_NODES, len(snapshot.devices))
        kept.resources = _shown(snapshot.resources)
    else:
        kept.node_counts, kept.device_counts, kept.resources = {}, [], {}
    kept.node_types = [] if snapshot.devices else snapshot.node_types
    drawn = msgspec.convert(kept, Drawn, from_attributes=True)
    strangers = _name_strangers(drawn, snapshot.runtime.job)
    drawn.hues = HUES.unusual(_name_subjects(drawn, snapshot))
    one_node = len(drawn.nodes) == 1
    for device in drawn.devices:
        _shorten_device(device, one_node)
    drawn.tasks, drawn.reasons = (rows or DrawnRows()).of(snapshot.tasks, strangers, one_node)
    for node in drawn.nodes:
        node.totals, node.available = _shown(node.totals), _shown(node.available)
    drawn.counts = {state: number for state, number in drawn.counts.items() if number}
    return drawn


def _many(functions: list[FunctionRow]) -> list[FunctionRow]:
    """Those with so many tasks that they have one row, or of which more wait than may have rows."""
    return [row for row in functions if row.total > MOST_OF_ONE or row.waiting > 1]


class FoundDrawn(msgspec.Struct, omit_defaults=True):
    """The tasks that pass a filter, as a page draws them."""

    key: str  # the filter's key
    tasks: list[DrawnTask]
    reasons: list[str]
    total: int
    functions: list[DrawnFunction] = []


def of_found(found: FoundTasks, key: str, own_job: int) -> FoundDrawn:
    """The rows that a filter found, in the form of a snapshot's rows."""
    tasks = msgspec.convert(found.rows, list[DrawnTask], from_attributes=True)
    reasons: dict[str, int] = {}
    for task in tasks:
        task.job = 0 if task.job == own_job else task.job
        _shorten_task(task, False, reasons)
    functions = msgspec.convert(_many(found.functions), list[DrawnFunction], from_attributes=True)
    return FoundDrawn(key, tasks, list(reasons), found.total, functions)


def _name_subjects(drawn: Drawn, snapshot: Snapshot) -> list[str]:
    """Sets each holder's function or class where it differs from the name; returns all subjects, in order."""
    subjects = {row.task_id: palette.subject(row.name, row.function, row.kind) for row in snapshot.tasks}
    subjects |= {row.actor_id: row.class_name for row in snapshot.actors}
    for device in drawn.devices:
        for holder in device.holders:
            subject = subjects.get(holder.actor_id or holder.task_id or "", holder.name)
            subjects.setdefault(holder.name, subject)
            holder.function = "" if subject == holder.name else subject
    return list(dict.fromkeys([*subjects.values(), *(row.name for row in drawn.functions)]))


def _name_strangers(drawn: Drawn, own_job: int) -> set[int]:
    """Keep the job only in rows of other notebooks; the notebook's own rows name none. Returns the others' jobs."""
    drawn.jobs = [job for job in drawn.jobs if job.number != own_job]  # a filter may find their tasks later
    strangers = {job.number for job in drawn.jobs}
    holders = [holder for device in drawn.devices for holder in device.holders]
    rows: list[DrawnActor | DrawnHolder] = [*drawn.actors, *holders]
    for row in rows:
        row.job = row.job if row.job in strangers else 0
    return strangers


def _shorten_device(device: DrawnDevice, one_node: bool) -> None:
    if one_node:
        device.node_id = ""
    if device.name or device.type:
        device.family = ""
    if device.name:
        device.type = None
    for holder in device.holders:
        holder.since = _milliseconds(holder.since)
    metrics = device.metrics
    if metrics is not None and metrics.memory_total_bytes == device.memory_bytes:
        metrics.memory_total_bytes = None


def _shorten_task(task: DrawnTask, one_node: bool, reasons: dict[str, int]) -> None:
    if task.function == task.name:
        task.function = ""
    if one_node:
        task.node_id = None
    if task.device_ids:
        task.demand = {}  # the devices that it has say what it asked for
    task.submitted_at = _milliseconds(task.submitted_at)
    task.started_at = _milliseconds(task.started_at)
    task.finished_at = _milliseconds(task.finished_at)
    if task.why:
        why = task.why if len(task.why) <= MOST_WHY else task.why[: MOST_WHY - 1] + "…"
        task.why, task.reason = "", reasons.setdefault(why, len(reasons))


def _milliseconds(time_s: float | None) -> float | None:
    return None if time_s is None else round(time_s, 3)


def _shown(quantities: dict[str, Amount]) -> dict[str, Amount]:
    return {name: amount for name, amount in quantities.items() if not name.startswith(_NOT_SHOWN)}


class SnapshotWriter:
    """Writes one snapshot after the other as JSON. What stays the same from one to the next is packed once."""

    def __init__(self) -> None:
        self._devices, self._tasks = Packer(), Packer()

    def json(self, drawn: Drawn) -> str:
        """A snapshot to send. One that is not small goes by columns, and loses rows of ended tasks if it is still too
        large.
        """
        if len(drawn.devices) + len(drawn.tasks) <= FEW_ROWS:
            plain = _json(drawn)
            if len(plain) <= MOST_BYTES_OF_FEW:
                return plain.decode()
        sent, tasks = self._without_tasks(drawn)
        while (
            drawn.node_counts
            and len(drawn.devices) > LEAST_TILES
            and len(_json(sent)) > MOST_BYTES - LEAST_BYTES_OF_TASKS
        ):
            nodes, devices = max(len(drawn.nodes) // 2, 1), len(drawn.devices) // 2
            drawn.nodes, drawn.devices = totals.fewer(drawn.nodes, drawn.devices, nodes, devices)
            sent, tasks = self._without_tasks(drawn)
        room = max(MOST_BYTES - len(_json(sent)), LEAST_BYTES_OF_TASKS)
        while True:
            table = self._tasks.packed(tasks)
            packed = _json(table)
            if len(packed) <= room or len(tasks) > MOST_TASKS:
                sent["tasks"] = msgspec.Raw(packed)
                return _json(sent).decode()
            tasks = _without(tasks, (len(packed) - room) * len(tasks) // len(packed) + 1)

    def _without_tasks(self, drawn: Drawn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """All but the tasks, with the devices by columns; and the tasks."""
        sent = msgspec.to_builtins(drawn)
        tasks = sent.pop("tasks", [])
        sent["devices"] = self._devices.packed(sent.get("devices", []))
        return sent, tasks


def to_json(drawn: Drawn) -> str:
    """The JSON of a single snapshot."""
    return SnapshotWriter().json(drawn)


def _without(tasks: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """The snapshot with fewer task rows: the oldest ended ones go first, long runs after short ones, and then as many
    that run as wait.
    """
    ranks: list[tuple[int, int]] = []
    seen = {True: 0, False: 0}  # by whether it waits
    for place, task in enumerate(tasks):
        waits = str(task["state"]).startswith("PENDING")
        ranks.append((1 + _is_short(task), place) if task["state"] in ENDED else (0, seen[waits]))
        seen[waits] += 1
    order = sorted(range(len(tasks)), key=ranks.__getitem__)
    kept = set(order[: max(len(tasks) - number, 0)])
    return [task for place, task in enumerate(tasks) if place in kept]


def _is_short(task: dict[str, Any]) -> bool:
    """Whether an ended task is not worth a notice (cockpit/notices.js)."""
    ended_at = task.get("finished_at", 0.0)
    return bool(ended_at - task.get("started_at", ended_at) < LONG_RUN_S)


def difference_key(drawn: Drawn) -> bytes:
    """A key that is equal for snapshots that look the same, whatever their number, time and small sensor changes."""
    seq, time, metrics = drawn.seq, drawn.time, [device.metrics for device in drawn.devices]
    drawn.seq, drawn.time = 0, 0.0
    for device in drawn.devices:
        device.metrics = _rounded(device.metrics)
    key = msgspec.msgpack.encode(drawn)
    drawn.seq, drawn.time = seq, time
    for device, exact in zip(drawn.devices, metrics, strict=True):
        device.metrics = exact
    return key


def without_metrics(drawn: Drawn) -> Drawn:
    """The snapshot without metrics of devices."""
    devices = [msgspec.structs.replace(device, metrics=None) for device in drawn.devices]
    return msgspec.structs.replace(drawn, devices=devices)


def _rounded(metrics: DrawnMetrics | None) -> DrawnMetrics | None:
    """Metrics rounded to the resolution of a bar; temperature and power always vary a little and count as unchanged."""
    if metrics is None:
        return None
    used = metrics.memory_used_bytes
    percent = metrics.utilisation_percent
    return DrawnMetrics(
        utilisation_percent=None if percent is None else round(percent),
        memory_used_bytes=None if used is None else used >> 24,
        memory_total_bytes=metrics.memory_total_bytes,
    )


def is_busy(drawn: Drawn) -> bool:
    """Whether a task or an actor of this cluster runs, waits or holds a device."""
    return any(number for state, number in drawn.counts.items() if state not in ENDED) or any(
        device.holders for device in drawn.devices
    )


# ---- packs rows of a large snapshot by columns, so that shared values are sent once: 64 devices take the space of 16
#
# ```
#   [{"id": "0", "name": "H100"}, {"id": "1", "name": "H100"}]
#       ──► {"rows": 2, "same": {"name": "H100"}, "each": {"id": ["0", "1"]}}        unpacked by cockpit/packing.js
# ```


Row = dict[str, Any]
LEAST_ALIKE = 6  # characters that texts have in common, for less of which they are sent whole
_TEXTS = {str, NoneType}
_ROWS, _LISTS, _PLAIN = {dict, NoneType}, {list, NoneType}, {str, int, float, bool, NoneType}


class Packer:
    """Packs one table again and again, and only those of its columns that have changed since the last time."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[list[Any], tuple[str, Any]]] = {}  # column -> its values, and how they were sent
        self._within: dict[str, Packer] = {}  # column -> of the rows within its rows

    def packed(self, rows: list[Row]) -> dict[str, Any]:
        """The rows by columns: `same` in all, one of a few (`of`), rows within rows (`within`, `lists`), or `each` its
        own.

        Texts that begin and end alike, as ids do, are `cut` into that beginning, what each has of its own, and that
        end. A null stands for a field that the row lacks.
        """
        table: dict[str, Any] = {"rows": len(rows)}
        names: Row = {}
        for row in rows:
            names.update(row)
        for name in names:
            values = [row.get(name) for row in rows]
            known = self._known.get(name)
            if known is None or known[0] != values:
                known = self._known[name] = values, self._column(name, values)
            kind, column = known[1]
            table.setdefault(kind, {})[name] = column
        return table

    def _column(self, name: str, values: list[Any]) -> tuple[str, Any]:
        """How a column is sent, and what of it. C loops over the values: a snapshot of 500 rows has 10,000 of them."""
        if values.count(values[0]) == len(values):
            return "same", values[0]
        kinds = set(map(type, values))
        if kinds <= _ROWS and _all_keys_are_words(values):
            return "within", self._inner(name, [value or {} for value in values])
        if kinds <= _LISTS:
            ones = list(chain.from_iterable(filter(None, values)))
            if set(map(type, ones)) <= {dict}:
                sizes = [len(value) if value else 0 for value in values]
                return "lists", {"sizes": sizes, "rows": self._inner(name, ones)}
        elif kinds <= _PLAIN:
            distinct = list(dict.fromkeys(values))
            if len(distinct) <= len(values) // 3:
                places = {value: place for place, value in enumerate(distinct)}
                return "of", [distinct, list(map(places.__getitem__, values))]
            if set(map(type, distinct)) <= _TEXTS:
                return _cut(values)
        return "each", values

    def _inner(self, name: str, rows: list[Row]) -> dict[str, Any]:
        return self._within.setdefault(name, Packer()).packed(rows)


def packed(rows: list[Row]) -> dict[str, Any]:
    """The rows of a table that is packed once."""
    return Packer().packed(rows)


def _cut(values: list[str | None]) -> tuple[str, Any]:
    """Texts without what all of them begin and end with, if that is longer than what it takes to say so."""
    texts = [value for value in values if value is not None]
    start = _beginning(texts)
    rest = [text[len(start) :] for text in texts]
    has_end = rest[0][-1:] == rest[-1][-1:] != ""
    end = _beginning([text[::-1] for text in rest])[::-1] if has_end else ""
    if len(start) + len(end) < LEAST_ALIKE:
        return "each", values
    cuts = iter(rest)
    return "cut", [start, [None if value is None else next(cuts).removesuffix(end) for value in values], end]


def _beginning(texts: list[str]) -> str:
    """What all of them begin with: what the first and the last of them, as they are sorted, begin with."""
    first, last = min(texts), max(texts)
    alike, most = 0, len(first)
    while alike < most:  # halves: an id has fifty characters
        half = (alike + most + 1) // 2
        alike, most = (half, most) if last.startswith(first[:half]) else (alike, half - 1)
    return first[:alike]


def _all_keys_are_words(rows: list[Row | None]) -> bool:
    return set(map(type, chain.from_iterable(filter(None, rows)))) <= {str}

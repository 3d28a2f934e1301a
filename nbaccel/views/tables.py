"""Tables of a snapshot as plain text cells: cards, magics and terminals draw the same tables.

This module decides nothing: a cell says what the snapshot says. A device's state is a word beside its sign, because
some people cannot see the colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from nbaccel.quantities import ACCELERATORS, TYPE_PREFIX
from nbaccel.views import totals, wording
from nbaccel.views.snapshot import ActorRow, DeviceCount, DeviceRow, Holder, Snapshot, TaskRow

# ---- the label of a device in every view: "GPU 0", or "GPU 0 · MIG 3 (1g.5gb)" for a MIG instance, never its UUID
#
# A snapshot names an instance's card by its UUID. The cards that are not whole devices themselves are numbered by
# their place, past the numbers that whole ones have.


LONG_ID = 20  # characters: a UUID that is no MIG instance's is cut

Labels = Mapping[tuple[str, str, str], str]  # of (node id, resource, device id)


def labels_of_devices(rows: Iterable[DeviceRow]) -> Labels:
    """The label of every device of a snapshot."""
    rows = list(rows)
    whole = {(row.node_id, row.resource, row.id) for row in rows if row.parent is None}
    cards: dict[tuple[str, str, str], int] = {}
    numbers: dict[tuple[str, str, str], int] = {}  # of instances on a card
    named: dict[tuple[str, str, str], str] = {}
    for row in rows:
        label = f"{wording.plain(row.resource)} {short_id(row.id)}"
        if row.parent is not None:
            card = (row.node_id, row.resource, row.parent)
            number = numbers[card] = numbers.get(card, -1) + 1
            profile = f" ({wording.plain(row.profile)})" if row.profile else ""
            label = f"{wording.plain(row.resource)} {_card(card, cards, whole)} · MIG {number}{profile}"
        named[row.node_id, row.resource, row.id] = label
    return named


def _card(card: tuple[str, str, str], cards: dict[tuple[str, str, str], int], whole: set[tuple[str, str, str]]) -> int:
    node_id, resource, _ = card
    if card not in cards:
        taken = {number for (node, kind, _), number in cards.items() if (node, kind) == (node_id, resource)}
        number = 0
        while number in taken or (node_id, resource, str(number)) in whole:
            number += 1
        cards[card] = number
    return cards[card]


def short_id(id: str) -> str:
    """An id for people: a long one is cut."""
    plain = wording.plain(id)
    return plain if len(plain) <= LONG_ID else f"{plain[:12]}…"


def devices_of_task(device_ids: Mapping[str, Iterable[str]], node_id: str | None, named: Labels) -> str:
    """The devices of a task: "GPU 0, 1", and "GPU 0 · MIG 3 (1g.5gb)" for an instance."""
    parts = []
    for resource, ids in device_ids.items():
        numbers, instances = [], []
        for id in ids:
            label = named.get((node_id or "", resource, id), "")
            (instances.append(label) if " · MIG " in label else numbers.append(short_id(id)))
        parts += ([f"{wording.plain(resource)} {', '.join(numbers)}"] if numbers else []) + instances
    return "; ".join(parts)


# ---- tables


RUNNING = frozenset({"RUNNING", "RUNNING_IN_RAY_GET", "RUNNING_IN_RAY_WAIT", "SUBMITTED_TO_WORKER"})
ENDED = frozenset({"FINISHED", "FAILED", "CANCELLED"})
STATE_WORDS = ("running", "waiting", "failed", "cancelled", "finished")  # people's words for states, in this order
NO_TASK = "No task yet. A remote function that is called makes one: f.remote()"
NO_DEVICE = "This counts two logical ones: nbaccel.init(num_gpus=2)"
NO_ACTOR = "No actor. A remote class that is called makes one: Counter.remote()"
FREE = "○ free"
TAKEN = "◼ taken"  # of a device that another program uses
GONE = "its node has gone"  # why nobody holds a device
LOST = "✕ gone"  # a device of such a node
SAME_REASON = "same reason"  # as the row above, where a title can have the whole
_NOT_RESOURCES = ("node:", TYPE_PREFIX, "memory", "object_store_memory")


class Table(Struct, frozen=True):
    """A titled grid of text; cells are one line each and hold no markup."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]] = ()
    empty: str = ""  # the text when there is no row
    more: str = ""  # the text below the rows: how many are not shown


def devices(snapshot: Snapshot, *, everything: bool = False) -> Table:
    """One row for each device: its label, its state, and its holders with their cells.

    Devices that are found but not offered are included with `everything`.
    """
    shown = device_rows(snapshot, everything=everything)
    many_nodes = len({row.node_id for row in shown}) > 1
    columns = ("Node", "Device", "Model", "State", "In use", "Memory", "Held by")
    names = {node.node_id: node.name for node in snapshot.nodes}
    named = labels_of_devices(snapshot.devices)
    rows = [(wording.plain(names.get(row.node_id, row.node_id)), *_device_cells(row, snapshot, named)) for row in shown]
    table = Table("Devices", columns, rows, _no_device(snapshot), totals.devices_left_out(snapshot))
    hidden = {"Node"} if not many_nodes else set()
    hidden |= {"Memory"} if all(not row[5] for row in rows) else set()
    return without_columns(table, hidden)


def device_rows(snapshot: Snapshot, *, everything: bool = False) -> list[DeviceRow]:
    """The devices that views show; nobody holds or measures one whose node has gone."""
    gone = {node.node_id for node in snapshot.nodes if not node.alive}
    shown = [row for row in snapshot.devices if everything or row.offered]
    return [
        msgspec.structs.replace(row, holders=[], free_reason=GONE, metrics=None) if row.node_id in gone else row
        for row in shown
    ]


def actors(snapshot: Snapshot) -> Table:
    """One row for each actor that is not dead."""
    named = labels_of_devices(snapshot.devices)
    rows = [
        (
            row.actor_id[:12],
            wording.plain(row.class_name),
            wording.plain(row.name),
            state_word(row.state),
            devices_of_task(row.device_ids, row.node_id, named),
            str(row.pid or ""),
            cell_words(row, snapshot),
        )
        for row in snapshot.actors
        if row.state != "DEAD"
    ]
    return Table("Actors", ("Id", "Class", "Name", "State", "Devices", "Pid", "Cell"), rows, empty=NO_ACTOR)


def without_columns(table: Table, names: set[str]) -> Table:
    """The same table without the columns of these names."""
    keep = [index for index, name in enumerate(table.columns) if name not in names]
    rows = [tuple(row[index] for index in keep) for row in table.rows]
    return Table(table.title, tuple(table.columns[index] for index in keep), rows, table.empty, table.more)


def first_line(snapshot: Snapshot) -> str:
    """The first line of every view: "2 of 2 GPUs busy · 3 running · 2 waiting · 1 failed"."""
    counts = [f"{number} {word}" for word, number in counted(snapshot).items()]
    return wording.sentence([*busy(snapshot), *(counts or ["no task yet"])])


def busy(snapshot: Snapshot) -> list[str]:
    """How many devices of each kind are held, or CPUs if there is no device: ["2 of 2 GPUs busy"]."""
    counts = totals.devices(snapshot)
    if counts:
        return [
            f"{each.held + each.taken} of {wording.count(each.total, wording.plain(each.resource))} busy"
            for each in counts
        ]
    free, total = totals.resources(snapshot).get("CPU", (0, 0))
    return [f"{wording.amount(total - free)} of {wording.amount(total)} CPUs busy"] if total else []


def headline(snapshot: Snapshot) -> str:
    """The engine, its versions and its process."""
    runtime = snapshot.runtime
    nodes = totals.nodes_alive(snapshot)
    return wording.sentence(
        [
            f"nbaccel {wording.plain(runtime.version)}",
            f"{runtime.engine} engine",
            wording.count(nodes, "node") if nodes > 1 else "",
            f"Python {runtime.python}",
            f"head pid {runtime.pid}" if runtime.pid else "",
            "shared by several notebooks" if runtime.shared else "",
        ]
    )


def beside_busy(snapshot: Snapshot) -> str:
    """What the first line does not say: "1 of 2 CPUs busy · 1 shared GPU has 0.5 free"."""
    counts = totals.devices(snapshot)
    kinds = {each.resource for each in counts} or {"CPU"}
    others = [
        f"{wording.amount(total - free)} of {wording.amount_of(total, wording.plain(name))} busy"
        for name, (free, total) in _sums(snapshot).items()
        if name not in kinds
    ]
    return wording.sentence([*others, *(_left_on_shared(each) for each in counts if each.shared)])


def _left_on_shared(count: DeviceCount) -> str:
    """ "8 shared GPUs have up to 0.5 free each": what is left of several devices is no device."""
    devices = wording.count(count.shared, f"shared {wording.plain(count.resource)}")
    most = wording.amount(count.most_free)
    if count.shared == 1:
        return f"{devices} has {most} free"
    return f"{devices} have {'' if count.least_free == count.most_free else 'up to '}{most} free each"


def resources(snapshot: Snapshot, *, ended: bool = False) -> str:
    """The free resources of all living nodes: "CPU 1 of 2 free · GPU 0.5 of 2 free".

    For a cluster that has `ended`, its resources: "CPU 2 · GPU 2".
    """
    return wording.sentence(
        f"{wording.plain(name)} "
        + (wording.amount(total) if ended else f"{wording.amount(free)} of {wording.amount(total)} free")
        for name, (free, total) in _sums(snapshot).items()
    )


def _sums(snapshot: Snapshot) -> dict[str, tuple[float, float]]:
    """What is free of each resource on all living nodes, and all of it."""
    sums = totals.resources(snapshot)
    return {name: sums[name] for name in sums if not name.startswith(_NOT_RESOURCES)}


def task_counts(snapshot: Snapshot) -> str:
    """The number of tasks in each state: "2 running · 1 waiting"."""
    return wording.sentence(f"{number} {word}" for word, number in counted(snapshot).items())


def counted(snapshot: Snapshot) -> dict[str, int]:
    """The number of tasks in each state that has any, in the order of STATE_WORDS."""
    numbers = dict.fromkeys(STATE_WORDS, 0)
    for state, number in snapshot.counts.items():
        numbers[state_word(state)] = numbers.get(state_word(state), 0) + number
    return {word: number for word, number in numbers.items() if number}


def waiting(snapshot: Snapshot) -> list[TaskRow]:
    """The tasks that wait, each with its reason, the longest wait first."""
    rows = [row for row in snapshot.tasks if row.state not in RUNNING and row.state not in ENDED]
    return sorted(rows, key=lambda row: row.submitted_at or 0)


def waiting_words(row: TaskRow) -> str:
    """Why a task waits: "train waits for 1 GPU. Both GPUs are busy: …"."""
    why = wording.plain(row.why) or f"waits for {wording.demand(row.demand)}"
    name = _subject(row)
    return why if why.startswith(name) else f"{name}: {why}" if row.why else f"{name} {why}"


def why_words(row: TaskRow) -> str:
    """The part of a task's reason that its row does not show elsewhere: without name, cell and demand.

    "Both GPUs are busy: …" of "train (cell [3] line 8) waits for 1 GPU. Both GPUs are busy: …".
    """
    again = f"retry of #{wording.short_id(row.retry_of)}" if row.retry_of else ""
    return ": ".join(filter(None, (again, _reason(row))))


def _reason(row: TaskRow) -> str:
    return without_subject(wording.plain(row.why), _subject(row), wording.plain(row.cell))[0]


def without_subject(why: str, name: str, cell: str) -> tuple[str, str]:
    """A reason without name, cell and demand, and the cell that it names, which starts with `cell`."""
    if not why.startswith(f"{name} "):
        return why, ""
    rest, where = why[len(name) + 1 :], ""
    if rest.startswith(f"(cell {cell or '['}"):
        where, _, rest = rest.removeprefix("(cell ").partition(") ")
    return _without_demand(rest, why), where


def _without_demand(rest: str, why: str) -> str:
    if rest.startswith("waits for "):
        return rest.partition(". ")[2] or rest
    return rest if rest.startswith("asks ") else why


def _subject(row: TaskRow) -> str:
    """A task's name as its reason has it; an actor's constructor has the name of the class."""
    return wording.plain(row.name.removesuffix(".__init__"))


def state_word(state: str) -> str:
    """The word of people for a state."""
    if state in RUNNING:
        return "running"
    if state in ENDED:
        return state.lower()
    return "waiting" if state.startswith("PENDING") else state.lower().replace("_", " ")


def started(row: TaskRow, now: float) -> str:
    """When a task began to run, by this machine's clock; "" if it has not begun."""
    return "" if row.started_at is None else wording.clock(row.started_at, now)


def took(row: TaskRow, now: float) -> str:
    """How long a task ran or has run, its progress and its remaining time; "waits 5 s" for a waiting task."""
    if state_word(row.state) == "waiting":
        return "" if row.submitted_at is None else f"waits {wording.age(now - row.submitted_at)}"
    if row.started_at is None:
        return ""
    if row.finished_at is not None:
        return wording.duration(row.finished_at - row.started_at)
    return wording.sentence([wording.age(now - row.started_at), *_how_far(row, now - row.started_at)])


def _how_far(row: TaskRow, seconds: float) -> list[str]:
    done, total = row.progress or (0.0, 0.0)
    if not total:
        return []
    left = [f"{wording.age(seconds * (total - done) / done)} left"] if 0 < done < total else []
    return [f"{100 * done / total:.0f} %", *left]


def device_state(row: DeviceRow) -> str:
    """A sign and a word for a device's state."""
    if not row.offered:
        return "– not offered"
    if row.free_reason and not row.holders:
        return LOST if row.free_reason == GONE else TAKEN
    if not row.holders:
        return FREE
    return "◐ shared" if row.free > 0 else "● held"


def device_model(row: DeviceRow) -> str:
    """The device's name, marked when there is no such hardware: "NVIDIA GPU (logical)", "NVIDIA A100 (simulated)"."""
    name = wording.plain(row.name or row.type or row.family).removeprefix(f"{row.kind} ")
    profile = f" {wording.plain(row.profile)}" if row.profile else ""
    return f"{name}{profile}" if row.kind == "real" else f"{name}{profile} ({row.kind})"


def _device_cells(row: DeviceRow, snapshot: Snapshot, named: Labels) -> tuple[str, ...]:
    used = sum(holder.amount for holder in row.holders)
    held_by = [holder_words(holder, snapshot, whole=len(row.holders) == 1) for holder in row.holders]
    held_by += [wording.plain(row.free_reason)] if row.free_reason else []
    return (
        named[row.node_id, row.resource, row.id],
        device_model(row),
        device_state(row),
        wording.amount(used) if row.offered else "",
        device_memory(row),
        "; ".join(held_by),
    )


def device_memory(row: DeviceRow) -> str:
    """ "12 GiB of 80 GiB, 83 %" if it was measured; the size if only that is known; "" if nothing is."""
    metrics = row.metrics
    total = row.memory_bytes
    if metrics is None:
        return "" if total is None else wording.size(total)
    total = metrics.memory_total_bytes or total
    known = [f"{wording.size(metrics.memory_used_bytes)} of {wording.size(total)}"] if total else []
    known += [] if metrics.utilisation_percent is None else [f"{metrics.utilisation_percent:.0f} % busy"]
    return ", ".join(known)


def owner(snapshot: Snapshot, job: int) -> str:
    """The notebook or script of a job; "" for the job that the snapshot was made for."""
    if not snapshot.jobs or not job or job == snapshot.runtime.job:
        return ""
    return next((wording.plain(row.name) for row in snapshot.jobs if row.number == job), f"job {job}")


def cell_words(row: TaskRow | ActorRow, snapshot: Snapshot) -> str:
    """Where a task was submitted: "[7] line 3", with the notebook if it is not the reader's own."""
    return " ".join(part for part in (owner(snapshot, row.job), wording.plain(row.cell)) if part)


def holder_words(holder: Holder, snapshot: Snapshot, *, whole: bool = False) -> str:
    """Who holds a part of a device: "train 0.5 (pid 4711, cell [7] line 3 of b.ipynb, 8 s)"."""
    now, whose = snapshot.time, owner(snapshot, holder.job)
    cell = wording.cell(holder.cell) if holder.cell else ""
    facts = [f"pid {holder.pid}"] if holder.pid else []
    facts += [" of ".join(part for part in (cell, whose) if part)] if cell or whose else []
    facts += [wording.age(now - holder.since)] if holder.since and now else []
    part = "" if whole and holder.amount == 1 else f" {wording.amount(holder.amount)}"
    return f"{wording.plain(holder.name)}{part}" + (f" ({', '.join(facts)})" if facts else "")


def _no_device(snapshot: Snapshot) -> str:
    reasons = " ".join(wording.plain(each) for each in snapshot.found)
    return " ".join(part for part in ("No accelerator.", reasons, to_come(snapshot) or NO_DEVICE) if part)


def to_come(snapshot: Snapshot) -> str:
    """Which types of nodes bring devices: "A node of the type gpu (4 GPU) comes when work asks for it."; or ""."""
    types = [
        (kind.name, {name: amount for name, amount in kind.resources.items() if name in ACCELERATORS})
        for kind in snapshot.node_types
        if not kind.given_up
    ]
    named = [f"{wording.plain(name)} ({wording.demand(devices)})" for name, devices in types if devices]
    return f"A node of the type {' or '.join(named)} comes when work asks for it." if named else ""


def as_text(table: Table) -> str:
    """The table in aligned columns for a terminal or `text/plain`."""
    from rich.cells import cell_len  # knows the width of wide characters; loaded when something is shown

    if not table.rows:
        return table.empty
    grid = [table.columns, *table.rows]
    widths = [max(cell_len(row[index]) for row in grid) for index in range(len(table.columns))]
    lines = [
        "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        for row in grid
    ]
    return "\n".join([*(line.rstrip() for line in lines), *([table.more] if table.more else [])])

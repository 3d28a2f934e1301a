"""Devices, tasks and actors as static HTML, with the cockpit's columns, words and colours: a saved notebook keeps it.

The text of every cell comes from `views`, as for terminals; this module only adds the HTML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from nbaccel.notebook import blocks
from nbaccel.notebook.blocks import Html
from nbaccel.views import palette, tables, task_lines, totals, wording
from nbaccel.views.node_tables import node_names
from nbaccel.views.palette import HUES
from nbaccel.views.snapshot import ActorRow, DeviceRow, Holder, Snapshot, TaskRow
from nbaccel.views.tables import Labels
from nbaccel.views.task_lines import TableContext, TaskLine

MOST_ROWS = 8  # devices with a row each; more are tiles
GROUPS_SHOWN = 8  # the number of holders named below the tiles


def devices(snapshot: Snapshot, *, everything: bool = False, tiled: bool = False) -> Html:
    """One row for each device; more than eight devices become tiles if `tiled` allows it."""
    shown = tables.device_rows(snapshot, everything=everything)
    if not shown:
        return _nothing(tables.devices(snapshot).empty)
    named = tables.labels_of_devices(snapshot.devices)
    if tiled and len(shown) > MOST_ROWS:
        return _tiles(shown, snapshot, named)
    several = len({row.node_id for row in shown}) > 1
    measured = any(_load(row) or _memory(row) for row in shown)
    held = any(row.holders or row.free_reason for row in shown)
    columns = [
        "Device",
        *(["Node"] if several else []),
        "In use",
        *(["Load, memory, power"] if measured else []),
        *(["Held by"] if held else []),
    ]
    nodes, wholes = node_names(snapshot.nodes), {node.node_id: wording.plain(node.name) for node in snapshot.nodes}
    models = Counter(tables.device_model(row) for row in shown)
    rows = []
    for row in shown:
        device = blocks.two_lines(_label(row, named), "" if len(models) == 1 < len(shown) else tables.device_model(row))
        named_node = blocks.words(
            nodes.get(row.node_id, row.node_id[:8]), quiet=True, title=wholes.get(row.node_id, "")
        )
        node = [named_node] if several else []
        load = [_measures(row)] if measured else []
        holders = [_held_by(row, snapshot)] if held else []
        rows.append([device, *node, _use(row, snapshot), *load, *holders])
    said = blocks.note(_models(models)) if len(models) == 1 and len(shown) > 1 else blocks.NOTHING
    return Html(said + blocks.table("Devices", columns, rows) + blocks.note(totals.devices_left_out(snapshot)))


def _models(models: Mapping[str, int]) -> str:
    """The models of the devices, each once: "8 × NVIDIA H100"."""
    return wording.sentence(model if number == 1 else f"{number} × {model}" for model, number in models.items())


def _label(row: DeviceRow, named: Labels) -> Html:
    label = named[row.node_id, row.resource, row.id]
    return blocks.words(label, strong=True, title=wording.plain(row.uuid or row.id) if row.parent else "")


def _use(row: DeviceRow, snapshot: Snapshot) -> Html:
    return blocks.join([blocks.bar(shares(row, snapshot)), blocks.words(tables.device_state(row))])


def _load(row: DeviceRow) -> tuple[float, str] | None:
    load = row.metrics.utilisation_percent if row.metrics is not None else None
    return None if load is None else (load, f"{load:.0f} %")


def _memory(row: DeviceRow) -> tuple[float, str] | None:
    used = row.metrics.memory_used_bytes if row.metrics is not None else None
    total = (row.metrics.memory_total_bytes if row.metrics is not None else None) or row.memory_bytes
    return None if used is None or not total else (100 * used / total, f"{wording.size(used)} of {wording.size(total)}")


def _measures(row: DeviceRow) -> Html:
    """Load and memory, each with a bar, and power."""
    watts = row.metrics.power_watts if row.metrics is not None else None
    known = [
        blocks.meter(*value) if value is not None else blocks.words(f"{what} unknown", quiet=True)
        for what, value in (("utilisation", _load(row)), ("memory", _memory(row)))
    ]
    known += [blocks.words(f"{watts:.0f} W")] if watts is not None else []
    return blocks.measures(known)


def shares(row: DeviceRow, snapshot: Snapshot) -> list[tuple[float, str]]:
    """What a bar shows of a device: each holder's part in its colour, or grey if others have taken it."""
    held = [(holder.amount, holder_colour(holder, snapshot)) for holder in row.holders]
    return held or ([(1.0, palette.TAKEN)] if tables.device_state(row) == tables.TAKEN else [])


def _held_by(row: DeviceRow, snapshot: Snapshot) -> Html:
    held = [_holder(holder, snapshot) for holder in row.holders]
    held += [blocks.words(wording.plain(row.free_reason), quiet=True)] if row.free_reason else []
    return Html("<br>".join(held))


def _holder(holder: Holder, snapshot: Snapshot) -> Html:
    """The name beside its colour, and below it the part that it holds, the cell and the age; the pid is its title."""
    name = blocks.name_cell(wording.plain(holder.name), wording.sentence(holder_facts(holder, snapshot)))
    drawn = blocks.join([blocks.swatch(holder_colour(holder, snapshot)), name])
    return blocks.titled(drawn, f"pid {holder.pid}" if holder.pid else "")


def holder_facts(holder: Holder, snapshot: Snapshot) -> list[str]:
    """The part of a device that it holds, if not all of it, its cell, and since when: ["0.5", "cell [3]", "8 s"]."""
    part = "" if holder.amount == 1 else wording.amount(holder.amount)
    cell = wording.cell(holder.cell) if holder.cell else ""
    where = " of ".join(words for words in (cell, tables.owner(snapshot, holder.job)) if words)
    since = wording.age(snapshot.time - holder.since) if holder.since and snapshot.time else ""
    return [fact for fact in (part, where, since) if fact]


def _tiles(shown: Sequence[DeviceRow], snapshot: Snapshot, named: Labels) -> Html:
    """Many devices: the models once, a tile each, and the holders that are alike on one line."""
    nodes: dict[str, list[Html]] = {}
    for row in shown:
        drawn = blocks.tile(named[row.node_id, row.resource, row.id], _tile_words(row), shares(row, snapshot))
        nodes.setdefault(row.node_id, []).append(drawn)
    held = Counter(wording.plain(holder.name) for row in shown for holder in row.holders)
    names = [name if number == 1 else f"{name} × {number}" for name, number in held.most_common(GROUPS_SHOWN)]
    more = [f"and {len(held) - GROUPS_SHOWN} more"] if len(held) > GROUPS_SHOWN else []
    return Html(
        blocks.note(_models(Counter(tables.device_model(row) for row in shown)))
        + (_by_node(nodes, snapshot) if len(nodes) > 1 else blocks.tiles("Devices", *nodes.values()))
        + blocks.line(f"Held by {', '.join([*names, *more])}" if names else "")
        + blocks.note(totals.devices_left_out(snapshot))
    )


def _by_node(tiles: Mapping[str, list[Html]], snapshot: Snapshot) -> Html:
    """The tiles of each node below its name."""
    names, wholes = node_names(snapshot.nodes), {node.node_id: wording.plain(node.name) for node in snapshot.nodes}
    return blocks.tiles_by_node((names.get(id, id[:8]), wholes.get(id, ""), shown) for id, shown in tiles.items())


def _tile_words(row: DeviceRow) -> str:
    """Who holds it, or its state; its utilisation, if that is known."""
    load = _load(row)
    held = ", ".join(
        wording.plain(holder.name) + ("" if holder.amount == 1 else f" {wording.amount(holder.amount)}")
        for holder in row.holders
    )
    return wording.sentence([held or tables.device_state(row).partition(" ")[2], load[1] if load else ""])


def tasks(snapshot: Snapshot, lines: Sequence[TaskLine], empty: str = tables.NO_TASK, *, at: str = "") -> Html:
    """A row for each line of tasks, and below it why it waits or failed. `at` says when this was so."""
    if not lines:
        return _nothing(empty)
    context = TableContext.of(snapshot)
    columns = task_lines.columns(
        lines, context, without=["Id", "Pid", "Load", "Why"]
    )  # with the name, or below the row
    cells = [[_cell(head, text, line, context) for head, text in columns.items()] for line in lines]
    heads = ["Task" if head == "Name" else head for head in columns]
    return blocks.table("Tasks", heads, cells, below=_reasons([line.why() for line in lines]), at=at)


def _cell(head: str, text: task_lines.Cell, line: TaskLine, context: TableContext) -> Html:
    """One cell: drawn in the way of its column, or in words."""
    draw = (_OF_FUNCTION if line.function else _OF_TASK).get(head)
    return blocks.words(text(line, context)) if draw is None else draw(line, context)


def _reasons(whys: Sequence[str]) -> list[Html]:
    """Why each row waits or failed; a reason that the row above has said is in the title."""
    return [
        blocks.words(tables.SAME_REASON, quiet=True, title=why) if why and why == above else blocks.words(why)
        for above, why in zip(["", *whys], whys, strict=False)
    ]


def _task_name(line: TaskLine, context: TableContext) -> Html:
    """The name of one task, or of several that wait for the same, over its id and its process."""
    row = line.first
    number = f"× {line.number}" if line.number > 1 else ""
    id = f"#{wording.short_id(row.task_id)}" + (" …" if number else "")
    return blocks.name_cell(line.name, wording.sentence([number, id, f"pid {row.pid}" if row.pid else ""]))


def _task_state(line: TaskLine, context: TableContext) -> Html:
    return blocks.pill(tables.state_word(line.first.state), task_colour(line.first))


def _task_devices(line: TaskLine, context: TableContext) -> Html:
    """The devices that it has, or quietly what it asks for."""
    row = line.first
    on = tables.devices_of_task(row.device_ids, row.node_id, context.named)
    return blocks.words(on) if on else blocks.words(wording.demand(row.demand), quiet=True)


def _took(line: TaskLine, context: TableContext) -> Html:
    """How long it takes, and below it how far it is."""
    time, _, far = tables.took(line.first, context.snapshot.time).partition(" · ")
    return blocks.two_lines(blocks.words(time), far)


def _function_name(line: TaskLine, context: TableContext) -> Html:
    return blocks.name_cell(line.name, "" if line.is_partial else f"× {line.number}")


def _function_state(line: TaskLine, context: TableContext) -> Html:
    """How far the tasks of a function are, and how many failed."""
    return _newest(line) if line.is_partial else _progress(line)


def _progress(line: TaskLine) -> Html:
    """How many tasks of a function have finished, as a bar and in words, and how many are in each other state."""
    counts = line.counts()
    hue = palette.colour(HUES.of(task_lines.subject(line.first) if line.rows else line.function))
    shares = [(counts.get("finished", 0) / line.number, hue), (counts.get("failed", 0) / line.number, palette.FAILURE)]
    said = [blocks.words(f"{counts.pop('finished', 0)} of {line.number}"), *blocks.counted(counts)]
    said = [blocks.together(fact) for fact in said]
    return Html(f"{blocks.bar(shares)}<br>{blocks.join(said, ' · ')}")


def _newest(line: TaskLine) -> Html:
    """The states of those tasks that are here: how many there are in all is not known, and there is no bar."""
    return blocks.join(
        [blocks.words(f"of the newest {line.number}:"), blocks.join(blocks.counted(line.counts()), " · ")]
    )


# The columns that are drawn in a way of their own, on the line of a task and on that of a function.
Draw = Callable[[TaskLine, TableContext], Html]
_OF_TASK: dict[str, Draw] = {"Name": _task_name, "State": _task_state, "Devices": _task_devices, "Took": _took}
_OF_FUNCTION: dict[str, Draw] = {"Name": _function_name, "State": _function_state}


def actors(snapshot: Snapshot, shown: Iterable[ActorRow] | None = None, *, at: str = "") -> Html:
    """One row for each given actor; by default, for each actor that is not dead. `at` says when this was so."""
    rows = [row for row in snapshot.actors if row.state != "DEAD"] if shown is None else list(shown)
    if not rows:
        return _nothing(tables.NO_ACTOR)
    named = tables.labels_of_devices(snapshot.devices)
    calls, why = any(row.pending_calls for row in rows), any(row.why or row.restarts for row in rows)
    ages = any(row.since for row in rows)
    columns = ["Actor", "State", "Devices", "Cell", *(["Age"] if ages else [])]
    columns += [*(["Calls waiting"] if calls else []), *(["Why"] if why else [])]
    reasons = _reasons([_actor_why(row) for row in rows])
    cells = [
        [
            blocks.name_cell(
                actor_name(row), wording.sentence([f"#{row.actor_id[:8]}", f"pid {row.pid}" if row.pid else ""])
            ),
            blocks.pill(tables.state_word(row.state), actor_colour(row)),
            blocks.words(tables.devices_of_task(row.device_ids, row.node_id, named)),
            blocks.words(tables.cell_words(row, snapshot)),
            *([blocks.words(wording.age(snapshot.time - row.since) if row.since else "")] if ages else []),
            *([blocks.words(str(row.pending_calls or ""))] if calls else []),
            *([reason] if why else []),
        ]
        for row, reason in zip(rows, reasons, strict=True)
    ]
    return blocks.table("Actors", columns, cells, at=at)


def _actor_why(row: ActorRow) -> str:
    restarts = f"restarted {row.restarts} ×" if row.restarts else ""
    return wording.sentence([restarts, wording.plain(row.why)])


def of_table(table: tables.Table) -> Html:
    """Any other text table as HTML."""
    if not table.rows:
        return _nothing(table.empty)
    rows = [[blocks.words(row[0], strong=True), *map(blocks.words, row[1:])] for row in table.rows]
    return Html(blocks.table(table.title, table.columns, rows) + blocks.note(table.more))


def _nothing(text: str) -> Html:
    """An empty state; the text after its last colon is shown as code."""
    said, colon, code = text.rpartition(": ")
    return blocks.empty(f"{said}:", code) if colon else blocks.empty(text)


def actor_name(row: ActorRow) -> str:
    """ "Trainer “main”"."""
    return wording.plain(row.class_name) + (f" “{wording.plain(row.name)}”" if row.name else "")


def task_colour(row: TaskRow) -> str:
    """A task's colour: its own shade of its function's hue; a call has the hue of its actor's class."""
    return palette.colour(HUES.of(palette.subject(row.name, row.function, row.kind)), row.actor_id or row.task_id)


def actor_colour(row: ActorRow) -> str:
    """An actor's colour: its own shade of its class's hue."""
    return palette.colour(HUES.of(row.class_name), row.actor_id)


def holder_colour(holder: Holder, snapshot: Snapshot) -> str:
    """The colour of the task or actor that holds a device."""
    return palette.colour(HUES.of(holder_subject(holder, snapshot)), holder.actor_id or holder.task_id or holder.name)


def holder_subject(holder: Holder, snapshot: Snapshot) -> str:
    """The function of the task that holds a device, whatever the task's name, or the actor's class."""
    if holder.actor_id:
        return next((row.class_name for row in snapshot.actors if row.actor_id == holder.actor_id), holder.name)
    found = next((row for row in snapshot.tasks if row.task_id == holder.task_id), None)
    return holder.name if found is None else palette.subject(found.name, found.function, found.kind)

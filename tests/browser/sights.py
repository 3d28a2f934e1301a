"""Clusters to look at: 2, 8 or 64 devices, empty, busy or failing, with what the head tells of their past.

The snapshots go the way of real ones: a Snapshot, its drawn part, JSON. Names are as long as people's names are.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from nbaccel.notebook import (
    accounting,
    blocks,
    card,
    publishing,
    static_tables,
    timeline,
    view,
    widget,
)
from nbaccel.notebook.kept_history import KeptReadings
from nbaccel.views import task_lines
from nbaccel.views.history.book import HistoryBook, PastRun, lane_of
from nbaccel.views.history.readings import DeviceLoad
from nbaccel.views.snapshot import (
    ActorRow,
    Alert,
    ArrivalRow,
    DeviceMetrics,
    DeviceRow,
    FunctionRow,
    Holder,
    JobRow,
    NodeRow,
    Runtime,
    Snapshot,
    TaskRow,
)

NOW = 1_700_000_000.0
DEVICES = (2, 8, 64)
CONDITIONS = ("empty", "busy", "failing")
LONG_NAMES = "long names"  # as failing, with names of 300 letters
WIDTHS = (480, 900, 1400)
THEMES: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "forced_colors": "none"},
    "dark": {"color_scheme": "dark", "forced_colors": "none"},
    "forced colours": {"color_scheme": "light", "forced_colors": "active"},
}
HERE = Path(__file__).parent
LOOK = (HERE / "look.js").read_text()  # what finds faults in a page
SHOW = (HERE / "show.js").read_text()  # what shows the clusters in a page with a cockpit
VIEWS = ("Card", "Devices", "Waiting", "Tasks", "Actors", "Timeline", "Accounting", "Alerts", "Nodes")
LONG = "train_the_large_model_on_all_shards_again"
NAMES = (LONG, "shard", "evaluate", "infer", "Keeper.step", "tokenize")
KILLED = "its worker was killed by SIGKILL: another program of this machine may have taken its memory"
RAISED = "ValueError: expected a batch of 128 rows, got 96; the last shard of the data set is shorter than the others"
PER_NODE = 8


def with_long_node_names(shown: Snapshot) -> Snapshot:
    """The same cluster, whose nodes have names of 300 letters that differ in their last ones."""
    for number, node in enumerate(shown.nodes):
        node.name = f"{'raycluster-kuberay-worker-gpu-group-' * 9}"[:297] + f"{number:03}"
    return shown


def snapshot(devices: int, condition: str) -> Snapshot:
    """The cluster in one snapshot."""
    if condition == LONG_NAMES:
        return _with_long_names(snapshot(devices, "failing"))
    made = Snapshot(Runtime("local", "0.1.0", "3.12.1", pid=28217, job=1, shared=True), seq=1, time=NOW)
    made.jobs = [JobRow(1, "a.ipynb", 100), JobRow(2, "another_notebook_of_a_colleague.ipynb", 101)]
    made.nodes = _nodes(devices, condition)
    made.devices = [_device(number, devices, condition) for number in range(devices)]
    if condition == "empty":
        return made
    made.tasks = [_running(number) for number in range(devices)] + [_waiting(number) for number in range(5)]
    made.tasks += [_ended(number, condition) for number in range(30)]
    made.arrivals = [ArrivalRow("a1", "gpu-large", since=NOW - 40, usually_s=120.0)]
    made.nodes[-1].idle_since, made.nodes[-1].leaves_at = NOW - 40, NOW + 20
    made.actors = [_actor(number) for number in range(3)]
    failed = sum(row.state == "FAILED" for row in made.tasks)
    made.counts = {"RUNNING": devices, "PENDING_NODE_ASSIGNMENT": 5, "FINISHED": 1200, "CANCELLED": 2, "FAILED": failed}
    made.functions = _functions(made)
    if condition == "failing":
        last = f"{failed} tasks have failed, the last of them {LONG} (cell [12] line 14): {RAISED}"
        never = f"{LONG} asks for 128 GPUs, and this cluster has {devices}. Ask for fewer."
        made.alerts = Alert.in_order(
            [
                Alert("leak", "GPU 1 keeps 9.5 GiB that no task holds (pid 28001)", NOW - 300, device="1"),
                Alert("infeasible", never, NOW - 40, _id(1000)),
                Alert("failed", last, NOW - 9),
            ]
        )
    return made


def long(name: str) -> str:
    """A name of 300 letters that begins as this one, with nothing in it where a line would break."""
    return f"{name}_{'x' * (299 - len(name))}"


def _with_long_names(made: Snapshot) -> Snapshot:
    """The same cluster with long names of functions, classes, actors, notebooks and types of nodes."""
    for row in made.tasks:
        row.name, row.why = long(row.name), row.why.replace(LONG, long(LONG))
    for holder in (holder for device in made.devices for holder in device.holders):
        holder.name = long(holder.name)
    for actor in made.actors:
        actor.class_name, actor.name = long(actor.class_name), long(actor.name)
    for alert in made.alerts:
        alert.message = alert.message.replace(LONG, long(LONG))
    for job in made.jobs:
        job.name = long(job.name)
    for arrival in made.arrivals:
        arrival.node_type = long(arrival.node_type)
    made.functions = [msgspec.structs.replace(row, name=long(row.name)) for row in made.functions]
    return made


def _functions(made: Snapshot) -> list[FunctionRow]:
    """How many tasks each function has had: those without a row have ended."""
    numbers = Counter((task_lines.subject(row), row.state) for row in made.tasks)
    ended = sum(number for (_, state), number in numbers.items() if state == "FINISHED")
    numbers["shard", "FINISHED"] += made.counts["FINISHED"] - ended
    return task_lines.rows_of_functions(
        ((name, state, number) for (name, state), number in numbers.items()), made.tasks
    )


def _nodes(devices: int, condition: str) -> list[NodeRow]:
    count = max(devices // PER_NODE, 1)
    per_node = devices // count
    rows = [
        NodeRow(_node_id(number), f"gpu-node-{number}.cluster.example.org", True, number == 0,
                {"CPU": 64.0, "GPU": per_node}, {"CPU": 60.0, "GPU": 0.0 if condition != "empty" else per_node})
        for number in range(count)
    ]  # fmt: skip
    if condition == "failing" and count > 1:
        rows[-1].alive, rows[-1].why = False, "it does not answer any more: its machine was switched off"
    return rows


def _node_id(number: int) -> str:
    return f"{number:02x}{5:054x}"


def _device(number: int, devices: int, condition: str) -> DeviceRow:
    node = _node_id(number // PER_NODE if devices > PER_NODE else 0)
    row = DeviceRow(node, "GPU", number, str(number), "nvidia", "NVIDIA GPU", "real", "H100", "NVIDIA H100 80GB HBM3")
    row.memory_bytes = 80 << 30
    if condition == "empty":
        return row
    row.metrics = DeviceMetrics(80.0 + number % 20, (40 + number % 30) << 30, 80 << 30, 61.0, 512.0, sampled_at=NOW)
    if condition == "failing" and number % 4 == 1:
        row.free, row.free_reason = (
            0.0,
            "9.5 GiB of its memory are taken by pid 28001, which is no task of this cluster",
        )
        return row
    row.free = 0.0
    task = _running(number)
    since, job = task.started_at, 2 if number % 5 == 3 else 1
    row.holders = [Holder(task.name, 1.0, task.task_id, pid=task.pid, cell=task.cell, since=since, job=job)]
    if number % 8 == 2:
        row.holders = [
            Holder("evaluate", 0.25, _id(900 + number), pid=300, cell="[9]", since=NOW - 8, job=1),
            Holder("Keeper", 0.5, actor_id="c1" * 12, pid=301, cell="[3]", since=NOW - 8000, job=1),
        ]
        row.free = 0.25
    return row


def _id(number: int) -> str:
    return f"7f3a{0:020x}{number:016x}00000001"


def _running(number: int) -> TaskRow:
    name = NAMES[number % len(NAMES)]
    row = TaskRow(_id(number), name, "task", "RUNNING", 2 if number % 5 == 3 else 1, {"GPU": 1.0})
    row.device_ids, row.pid, row.cell = {"GPU": [str(number)]}, 28_000 + number, "[12] line 14"
    row.submitted_at, row.started_at = NOW - 200 - number, NOW - 192 + 2 * number
    if number % 3 == 0:
        row.progress, row.peak_memory_bytes = (number + 1.0, 80.0), (number + 20) << 30
    return row


def _waiting(number: int) -> TaskRow:
    name = NAMES[number % 2]
    row = TaskRow(_id(1000 + number), name, "task", "PENDING_NODE_ASSIGNMENT", 1, {"GPU": 2.0, "CPU": 8.0})
    row.cell, row.submitted_at = "[13]", NOW - 50 - number
    busy = f"All GPUs are busy: {LONG} on GPU 0 (cell [12], 3 min 12 s), shard on GPU 1 (cell [12], 3 min 10 s)."
    row.why = f"{name} (cell [13]) waits for 8 CPUs and 2 GPUs. {busy}"
    return row


def _ended(number: int, condition: str) -> TaskRow:
    failed = condition == "failing" and number % 3 != 2
    state = "FAILED" if failed else "CANCELLED" if number % 15 == 7 else "FINISHED"
    row = TaskRow(_id(2000 + number), NAMES[number % len(NAMES)] if number < 12 else "shard", "task", state, 1)
    row.device_ids, row.cell = {"GPU": [str(number % 2)]}, f"[{number % 7 + 4}] line 2"
    row.submitted_at, row.started_at, row.finished_at = NOW - 400, NOW - 390, NOW - 380 + number
    if failed:
        row.why = KILLED if number % 2 else RAISED
        row.retryable, row.retry_of = number % 4 == 0, _id(1990 + number) if number == 4 else ""
    return row


def _actor(number: int) -> ActorRow:
    row = ActorRow(f"{0xC1 + number:02x}" * 12, ("Keeper", LONG.title().replace("_", ""), "Cache")[number], "ALIVE", 1)
    row.name, row.cell, row.since, row.pid = "the-one-with-a-name" * (number == 1), "[3]", NOW - 8000, 300 + number
    row.device_ids, row.pending_calls = {"GPU": ["2"]} if number == 0 else {}, number * 7
    if number == 2:
        row.state, row.why, row.restarts = "RESTARTING", "its process ended with exit code 1", 2
    return row


def past(shown: Snapshot, condition: str) -> dict[str, str]:
    """What the head answers to the questions of an open view, by question, as a page gets it."""
    return {ask: _with_hues(answer) for ask, answer in answers(shown, condition).items()}


def answers(shown: Snapshot, condition: str) -> dict[str, Any]:
    """The same as records."""
    book = HistoryBook(NOW - 600)
    lanes = {row.index: lane_of(row.node_id, row.resource, row.id) for row in shown.devices}
    for lane in lanes.values():
        book.has_device(lane, NOW - 600)
    if condition != "empty":
        for step in range(60):
            loads = [
                DeviceLoad(lane, 50.0 + 40 * ((step + index) % 7) / 7, 0.6, 500.0) for index, lane in lanes.items()
            ]
            book.measured(NOW - 120 + 2 * step, loads)
        for number, index in product(range(12), lanes):
            state = "FAILED" if condition in ("failing", LONG_NAMES) and number % 4 == 0 else "FINISHED"
            began = NOW - 170 + 14 * number + index % 5
            name = NAMES[(number + index) % len(NAMES)]
            name = long(name) if condition == LONG_NAMES else name
            book.ended(
                PastRun(
                    name,
                    "[12] line 14",
                    1,
                    state,
                    ((lanes[index], 1.0),),
                    f"{number}{index}",
                    began - 3,
                    began,
                    began + 11,
                )
            )
    return {
        "runs": book.runs(NOW, (NOW - 60, NOW), 0),
        "accounting": book.accounting(NOW),
        "readings": book.readings(NOW),
    }


def _with_hues(answer: Any) -> str:
    functions, jobs = widget._named(answer)
    for row in jobs:
        row.job = 0
    return json.dumps({**msgspec.to_builtins(answer), "hues": widget._hues(functions)})


def sight(devices: int, condition: str) -> dict[str, Any]:
    """What a page is given: the snapshot as JSON, and the answers."""
    return sight_of(snapshot(devices, condition), f"{devices} devices, {condition}", condition)


def sight_of(shown: Snapshot, name: str, condition: str) -> dict[str, Any]:
    """The same of a given snapshot."""
    return {"name": name, "snapshot": publishing.to_json(publishing.of_snapshot(shown)),
            "measured": condition != "empty", "answers": past(shown, condition)}  # fmt: skip


def static_views(shown: Snapshot, condition: str) -> dict[str, str]:
    """What a saved notebook keeps of the same cluster: each view as HTML."""
    told, at = answers(shown, condition), "as of 2023-11-14 22:13:20"
    kept = KeptReadings()
    kept.add(told["readings"])
    lines = kept.sections(shown)
    return {
        "card": card.html(shown, at),
        "status": view.status_html(shown, at),
        "devices": view.boxed(shown, "", static_tables.devices(shown, everything=True)).html,
        "tasks": view.boxed(
            shown, "", static_tables.tasks(shown, task_lines.ordered(shown.tasks, functions=shown.functions))
        ).html,
        "actors": view.boxed(shown, "", static_tables.actors(shown)).html,
        "timeline": blocks.box(timeline.sections(told["runs"], shown)),
        "accounting": accounting.accounting_view(told["accounting"], shown).html,
        "last card": card.last_mimebundle(shown, past=accounting.sections(told["accounting"], shown))["text/html"],
    } | ({"readings": blocks.box(lines)} if lines else {})


def all_sights() -> list[dict[str, Any]]:
    return [sight(devices, condition) for devices, condition in product(DEVICES, (*CONDITIONS, LONG_NAMES))]

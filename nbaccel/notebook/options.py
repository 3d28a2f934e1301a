"""The options of each magic: one table, read by the parser, by Tab and by `?`.

To add an option, add a row here; what it does belongs to the magic of the same name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nbaccel.notebook import arguments as read
from nbaccel.notebook.arguments import Option
from nbaccel.views.tables import STATE_WORDS

RESTART = Option("restart", read.boolean, "end what runs and start anew with these options", "--restart", ("true",))
SHARED = Option(
    "shared",
    read.boolean,
    "start a head that several notebooks share, or join the one that runs",
    "shared=true",
    ("true",),
)
JSON = Option("json", read.boolean, "print the snapshot as JSON", "--json", ("true",))
_TRUE_FALSE = ("true", "false")

# Keywords of nbaccel.init(), passed on unchanged.
INIT = (
    Option(
        "num_gpus",
        read.number,
        "GPUs to offer; more than there are makes logical ones",
        "num_gpus=2",
        ("1", "2", "4", "8"),
    ),
    Option("num_cpus", read.number, "CPUs to offer", "num_cpus=4", ("1", "2", "4", "8")),
    Option(
        "resources",
        read.quantities,
        "further resources",
        "resources=TPU:4,license:1",
        ("TPU:", "NPU:", "HPU:", "neuron_cores:"),
    ),
    Option("labels", read.labels, "labels of this machine", "labels=zone:a"),
    Option(
        "engine", read.one_of("local", "ray", "debug"), "what runs the tasks", "engine=local", ("local", "ray", "debug")
    ),
    Option("address", read.text_value, "join what runs elsewhere", "address=auto", ("auto", "local", "ray://")),
    Option("token_file", read.text_value, "the token of the Ray cluster to join", "token_file=~/.ray/auth_token"),
    Option("namespace", read.text_value, "where named actors live", "namespace=mine"),
    Option("object_store_memory", read.size_bytes, "memory for objects", "object_store_memory=4GB"),
    Option(
        "preload", read.names, "modules that new workers have loaded already", "preload=numpy,torch", ("numpy", "torch")
    ),
    Option(
        "simulate", read.text_value, "simulate these devices", "simulate=nvidia:8xH100", ("nvidia:", "amd:", "tpu:")
    ),
    Option(
        "gpu_vendor",
        read.one_of("nvidia", "amd", "intel"),
        "whose GPUs are offered",
        "gpu_vendor=amd",
        ("nvidia", "amd", "intel"),
    ),
    Option("hide_unassigned", read.boolean, "hide devices from tasks without any", "hide_unassigned=true", _TRUE_FALSE),
    Option("log_to_driver", read.boolean, "show what tasks print", "log_to_driver=false", _TRUE_FALSE),
    Option(
        "infeasible",
        read.one_of("warn", "raise"),
        "what a demand that can never be met does",
        "infeasible=raise",
        ("warn", "raise"),
    ),
    Option("leak_threshold", read.size_bytes, "device memory kept for nothing that is told", "leak_threshold=256MiB"),
    Option("node_types", read.text_value, "virtual nodes that come when work needs them", "node_types=machines.toml"),
    Option("notify", read.text_value, "tell this address or command when long work ends", "notify=https://…"),
    Option("notify_after_s", read.seconds, "tasks from this time on", "notify_after_s=10m"),
    Option(
        "on_interrupt",
        read.one_of("cancel", "detach", "force"),
        "what Stop does to the tasks of the stopped cell",
        "on_interrupt=cancel",
        ("cancel", "detach", "force"),
    ),
)

# Keywords of nbaccel.remote(), passed on unchanged.
TASK = (
    Option("num_gpus", read.number, "GPUs for it, or a part of one", "num_gpus=1", ("0.25", "0.5", "1", "2")),
    Option("num_cpus", read.number, "CPUs for it", "num_cpus=2", ("0.5", "1", "2", "4")),
    Option(
        "resources",
        read.quantities,
        "further resources for it",
        "resources=TPU:4",
        ("TPU:", "NPU:", "HPU:", "neuron_cores:"),
    ),
    Option(
        "accelerator_type", read.text_value, "only this type will do", "accelerator_type=A100", ("A100", "H100", "L4")
    ),
    Option("gpu_memory", read.size_bytes, "a GPU with so much memory", "gpu_memory=10GB", ("10GB", "40GB", "80GB")),
    Option("memory", read.size_bytes, "main memory for it", "memory=4GB", ("1GB", "4GB", "16GB")),
    Option("label_selector", read.labels, "only nodes with these labels will do", "label_selector=zone:a"),
    Option("fallback", read.one_of("cpu"), "run without a GPU when there is none", "fallback=cpu", ("cpu",)),
    Option("max_retries", read.whole, "how often to try again when its worker dies", "max_retries=0", ("0", "3")),
    Option("name", read.text_value, "its name in every view", "name=train"),
)
# Options that %%accel handles itself.
CELL = (
    Option("o", read.text_value, "bind what the cell assigns, result included, to this name", "-o result"),
    Option(
        "each", read.text_value, "one task for each item of this variable; the cell calls it `item`", "--each=items"
    ),
    Option("block", read.boolean, "wait for it and show what it shows (as without it)", "--block", ("true",)),
    Option("noblock", read.boolean, "do not wait; -o binds a ref", "--noblock", ("true",)),
    Option("timeout", read.seconds, "give up waiting after this time and cancel", "timeout=10m"),
)

CELL_OF_TASKS = Option(
    "cell", read.cell_number, "only of this notebook's cell 7; `here` is the running cell", "cell=7", ("here",)
)
EVERYTHING = Option("all", read.boolean, "also devices that are found but not offered", "--all", ("true",))

MAGICS: dict[str, tuple[Option, ...]] = {
    "accel_init": (*INIT, SHARED, RESTART),
    "accel_status": (JSON,),
    "accel_devices": (EVERYTHING, JSON),
    "accel_tasks": (
        Option(
            "state",
            read.names,
            "only in these states",
            "state=running,waiting",
            STATE_WORDS,
        ),
        CELL_OF_TASKS,
        Option("limit", read.whole, "at most so many, the newest", "limit=20", ("20", "100")),
    ),
    "accel_actors": (),
    "accel_nodes": (
        Option("move", read.text_value, "copy what lies only on this node, so that it can leave", "move=gpu-1"),
    ),
    "accel_scale": (
        Option("num_gpus", read.whole, "room for so many tasks of one GPU", "num_gpus=2", ("1", "2", "4", "8")),
        Option("num_cpus", read.whole, "room for so many tasks of one CPU", "num_cpus=8", ("1", "2", "4", "8")),
        Option("dry_run", read.boolean, "only say what would come", "--dry-run", ("true",)),
    ),
    "accel_why": (),
    "accel_probe": (
        *TASK[:7],
        Option("timeout_s", read.seconds, "try it: wait in line for so long", "timeout_s=10s", ("10s", "1m", "10m")),
    ),
    "accel_cancel": (
        Option("all", read.boolean, "every task of this notebook", "--all", ("true",)),
        CELL_OF_TASKS,
        Option("everyone", read.boolean, "of other notebooks on a shared head too", "--everyone", ("true",)),
        Option("force", read.boolean, "kill the workers, for tasks that do not listen", "--force", ("true",)),
    ),
    "accel_logs": (Option("tail", read.one_or_more, "the last lines", "tail=100", ("100", "1000")),),
    "accel_stack": (),
    "accel_runs": (
        Option("path", read.text_value, "the storage folder", "path=~/nbaccel_results"),
        Option("text", read.text_value, "only with this in name, metrics or best config", "text=mnist"),
        Option(
            "state",
            read.one_of("running", "finished", "stopped", "failed", "interrupted"),
            "only in this state",
            "state=failed",
            ("running", "finished", "stopped", "failed", "interrupted"),
        ),
        Option("limit", read.whole, "at most so many, the newest", "limit=20", ("20", "100")),
    ),
    "accel_dashboard": (),
    "accel_timeline": (
        CELL_OF_TASKS,
        Option("last", read.seconds, "only the last moments", "last=5m", ("1m", "5m", "1h")),
        Option("save", read.text_value, "write it as a trace of Chrome's", "save=trace.json", ("trace.json",)),
    ),
    "accel_recycle": (),
    "accel_release": (),
    "accel_shutdown": (),
    "accel_config": (
        Option("lines_per_cell", read.whole, "lines of output under one cell", "lines_per_cell=1000"),
        Option("lines_per_s", read.number, "lines a second under one cell", "lines_per_s=100"),
        Option("burst_lines", read.whole, "lines at once", "burst_lines=200"),
        Option("errors_shown", read.whole, "failures shown in full", "errors_shown=4"),
        Option("tasks_shown", read.whole, "rows of %accel_tasks", "tasks_shown=50"),
    ),
    "accel": (*TASK, *CELL),
    "accel_time": (*TASK, *CELL[:1], *CELL[4:]),
}

CELL_MAGICS = ("accel", "accel_time")
# Magics that take plain words, and the meaning of these words.
WORDS = {
    "accel_why": "TASK …",
    "accel_cancel": "TASK …",
    "accel_logs": "TASK",
    "accel_stack": "TASK|NAME|PID",
    "accel_scale": "[0]",
    "accel_release": "[GROUP …]",
}


def manual(magic: str, purpose: str) -> str:
    """The help text that `%magic?` and `%magic --help` show: purpose, both forms, every option with an example."""
    sign = "%%" if magic in CELL_MAGICS else "%"
    usage = " ".join(part for part in (WORDS.get(magic, ""), "key=value … --switch" if MAGICS[magic] else "") if part)
    lines = [purpose, "", f"    {sign}{magic} {usage}".rstrip(), ""]
    lines += (
        ["    TASK is an id of %accel_tasks or a variable with a ref.", ""] if "TASK" in WORDS.get(magic, "") else []
    )
    width = max((len(option.example) for option in MAGICS[magic]), default=0)
    lines += [f"    {option.example:<{width}}  {option.meaning}" for option in MAGICS[magic]]
    lines += ["", "Values take {variables} of the notebook; --key value means key=value."] if MAGICS[magic] else []
    lines += ["", f"{sign}{magic} --help shows this."]
    return "\n".join(lines)


def documented(purpose: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a magic the manual that `%magic?` and `%magic --help` show, written from its table of options."""

    def add_manual(magic: Callable[..., None]) -> Callable[..., None]:
        text = manual(magic.__name__, purpose)

        @functools.wraps(magic)
        def run(magics: Any, line: str, *body: str) -> None:
            if asks_for_help(line):
                print(text)  # noqa: T201 - an answer under the cell, as aligned as a terminal's
            else:
                magic(magics, line, *body)

        run.__doc__ = text
        return run

    return add_manual


def asks_for_help(line: str) -> bool:
    """Whether `--help` or `-h` is among the words of a magic's line."""
    return not {"--help", "-h"}.isdisjoint(line.split())

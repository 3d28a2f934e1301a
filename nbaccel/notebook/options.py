"""Which options each magic takes: one table, read by the parser, by Tab and by `?`.

To add an option, add a row here; what it does belongs to the magic of the same name.
"""

from __future__ import annotations

from nbaccel.notebook import arguments as read
from nbaccel.notebook.arguments import Option

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

# Keywords of nbaccel.init, handed on as they are.
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
    Option("namespace", read.text_value, "where named actors live", "namespace=mine"),
    Option("object_store_memory", read.size_bytes, "memory for objects", "object_store_memory=4GB"),
    Option(
        "preload", read.names, "modules that new workers have loaded already", "preload=numpy,torch", ("numpy", "torch")
    ),
    Option(
        "simulate", read.text_value, "seem to have these devices", "simulate=nvidia:8xH100", ("nvidia:", "amd:", "tpu:")
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
        "on_interrupt",
        read.one_of("cancel", "detach", "force"),
        "what Stop does to the tasks of the stopped cell",
        "on_interrupt=cancel",
        ("cancel", "detach", "force"),
    ),
)

EVERYTHING = Option("all", read.boolean, "also devices that are found but not offered", "--all", ("true",))

MAGICS: dict[str, tuple[Option, ...]] = {
    "accel_init": (*INIT, SHARED, RESTART),
    "accel_status": (JSON,),
    "accel_devices": (EVERYTHING, JSON),
    "accel_shutdown": (),
}


def manual(magic: str, purpose: str) -> str:
    """The help text that `%magic?` shows: purpose, both forms, every option with an example."""
    lines = [purpose, "", f"    %{magic} key=value … --switch", ""]
    width = max((len(option.example) for option in MAGICS[magic]), default=0)
    lines += [f"    {option.example:<{width}}  {option.meaning}" for option in MAGICS[magic]]
    lines += ["", "Values take {variables} of the notebook; --key value means key=value."] if MAGICS[magic] else []
    return "\n".join(lines)

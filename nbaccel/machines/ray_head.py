"""A head of a Ray cluster on this machine: `nbaccel start --head --engine=ray`.

Its cluster always wants a token: the head's ports are open to the network, and who may connect may run code. Nothing
that runs already is disturbed: a port that is taken is refused or avoided, and the record finds exactly this head's
processes.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nbaccel import plain_files, ray_preflight
from nbaccel.handles.node_types import DEFAULT_IDLE_S, DEFAULT_MOST, SLURM, SSH, machine_types
from nbaccel.machines import node_records, ray_processes
from nbaccel.machines.node_records import NodeRecord
from nbaccel.machines.sources.machines import SourceError, node_labels, node_resources
from nbaccel.proc import host_address

USUAL_PORT = 6379
_CLIENT_PORT = 10001


@dataclass(frozen=True, slots=True)
class HeadPlan:
    """How a head is started.

    port                where it listens; 0 takes a free port
    offered             what the head's machine offers, as in `init()`: num_cpus, num_gpus, resources, labels,
                        object_store_memory, gpu_vendor; what is missing is found here
    node_type           the name of nodes like the head. With a file for the autoscaler, its `head_node_type`
    token_file          the token that others have to show; made where it is missing. "" for Ray's usual file
    autoscaling_config  the file of Ray's autoscaler, which brings further nodes; None for a cluster of fixed size
    instance_id         the head's id for the autoscaler's provider of nodes, if there is one
    variables           further environment variables of the head's processes
    """

    port: int = USUAL_PORT
    offered: Mapping[str, Any] = field(default_factory=dict)
    node_type: str = "head"
    token_file: str = ""
    autoscaling_config: Path | None = None
    instance_id: str = "nbaccel-head"
    variables: Mapping[str, str] = field(default_factory=dict)


def start_head(plan: HeadPlan, *, with_us: bool = False) -> NodeRecord:
    """Start a head and return its record once it answers.

    It outlives this process, unless `with_us` is true. Raises ValueError for a port that is taken, a token that is
    not one and devices that are not here; PermissionError for a token that others may read; RuntimeError if Ray is not
    installed or does not start.
    """
    if not is_installed("ray"):
        raise RuntimeError("Ray is not installed here. Type: pip install 'nbaccel[ray]'")
    port = chosen_port(plan.port)
    node = ray_processes.devices_here(plan.offered)
    environ = ray_processes.node_environment(os.environ, node, plan.node_type)
    _show_token(plan.token_file, environ)
    environ |= {**_autoscaler_variables(plan), **plan.variables}
    line = [
        *ray_processes.RAY_START,
        *_head_options(port, plan.autoscaling_config),
        *ray_processes.ray_start_options(node, plan.offered),
    ]
    types = {} if plan.autoscaling_config is None else _node_types(plan.autoscaling_config, plan.node_type)
    record = ray_processes.start(line, environ, address=address_at(port), is_head=True, with_us=with_us)
    if types:
        _publish(record, environ, types)
    return record


def is_installed(package: str) -> bool:
    """Whether a package can be imported; it is not imported."""
    return importlib.util.find_spec(package) is not None


def announcement(record: NodeRecord) -> list[str]:
    """What to do with this head, with the exact lines to type."""
    file = plain_files.as_typed(Path(record.token_file)) if record.token_file else ""
    shown = f" --token-file {file}" if file else ""
    copied = (
        f"scp {record.address.partition(':')[0]}:{file} {file}" if file else "set RAY_AUTH_TOKEN there as it is here"
    )
    noted = f" token_file={file}" if file else ""
    return [
        f"Ray head started at {record.address}, pid {record.pid}.",
        f"  join it from here   %accel_init address={record.address}{noted}",
        f"  add a machine       {copied}     (once, on that machine: whoever has the token may run code here)",
        f"                      nbaccel start --address={record.address}{shown}",
        "  see it              nbaccel status",
        f"  end it              nbaccel stop, or nbaccel stop {record.pid} where several run",
        "The machines have to reach each other at this port and all above it. The token is their only lock.",
    ]


def _head_options(port: int, autoscaling_config: Path | None) -> list[str]:
    # The cockpit shows what runs; Ray's dashboard costs another 300 MB. Another Ray may run here: port 0 is a free one.
    options = ["--head", "--block", "--disable-usage-stats", f"--node-ip-address={host_address()}", f"--port={port}"]
    options += ["--include-dashboard=false", "--dashboard-agent-listen-port=0"]
    if is_installed("grpc") and not _is_free(_CLIENT_PORT):
        options.append(f"--ray-client-server-port={_free_port()}")
    if autoscaling_config is not None:
        options.append(f"--autoscaling-config={autoscaling_config}")
    return options


def _node_types(config: Path, head_type: str) -> dict[str, dict[str, Any]]:
    """The types of nodes in a file for Ray's autoscaler, without the head's own."""
    import yaml

    known = yaml.safe_load(config.read_text())  # JSON is read as well
    idle_s = 60.0 * known.get("idle_timeout_minutes", 5)
    return {
        name: {
            "resources": each.get("resources", {}),
            "labels": each.get("labels", {}),
            "min_workers": each.get("min_workers", 0),
            "max_workers": each.get("max_workers", known.get("max_workers", 0)),
            "idle_s": each.get("idle_timeout_s", idle_s),
        }
        for name, each in known["available_node_types"].items()
        if name != head_type
    }


def _publish(record: NodeRecord, environ: Mapping[str, str], types: dict[str, dict[str, Any]]) -> None:
    """Let programs know the types: explain, probe and views tell them."""
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_TOKEN"):
        if name in environ:
            os.environ[name] = environ[name]
        else:
            os.environ.pop(name, None)
    ray_preflight.publish_node_types(record.address, types)


def _autoscaler_variables(plan: HeadPlan) -> dict[str, str]:
    """The second version of Ray's autoscaler knows nodes by the id that their processes carry."""
    if plan.autoscaling_config is None:
        return {}
    return {"RAY_enable_autoscaler_v2": "1", "RAY_CLOUD_INSTANCE_ID": plan.instance_id}


def _show_token(token_file: str, environ: dict[str, str]) -> None:
    """Switch authentication on, with the token of this file, of RAY_AUTH_TOKEN, or a new one."""
    environ["RAY_AUTH_MODE"] = "token"
    named = token_file_of(token_file)
    if not named:
        return
    file = Path(named)
    if not file.exists():
        ray_preflight.write_token(file, ray_preflight.make_token())
    ray_preflight.read_token(file)  # raises for what is no token
    environ["RAY_AUTH_TOKEN_PATH"] = str(file)
    environ.pop("RAY_AUTH_TOKEN", None)  # it would go before the file


def address_at(port: int) -> str:
    """The address at which nodes and drivers find a head of this machine."""
    return f"{host_address()}:{port}"


def token_file_of(token_file: str) -> str:
    """The file whose token the cluster asks for; "" if it is the one in RAY_AUTH_TOKEN."""
    if not token_file and os.environ.get("RAY_AUTH_TOKEN"):
        return ""
    return str(Path(token_file).expanduser().absolute() if token_file else ray_preflight.usual_file())


def chosen_port(wanted: int) -> int:
    """The port, or a free one for 0. Raises ValueError for one that is taken or no port."""
    if not wanted:
        return _free_port()
    if not 0 < wanted < 65_536:
        raise ValueError(f"--port={wanted} is no port: it is a number from 1 to 65535, or 0 for a free one.")
    if not _is_free(wanted):
        raise ValueError(
            f"Port {wanted} of this machine is taken, perhaps by another Ray. Say another port, or --port 0 for a free "
            "one."
        )
    return wanted


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what a head has just left is free
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


# ---- a head of a Ray cluster that grows: `nbaccel start --head --engine=ray --node-types machines.toml`


_PROGRAMS = {SLURM: ("sbatch", "squeue", "scancel"), SSH: ("ssh",)}


def growing(plan: HeadPlan, node_types: str) -> HeadPlan:
    """The plan of a head whose cluster grows by the types of a machines.toml.

    Raises ValueError or TypeError for a mistake in the file, SourceError if a program of a source is missing.
    """
    types = machine_types(node_types)
    _check_programs(types)
    port = chosen_port(plan.port)
    address = address_at(port)
    config = autoscaling_config(
        types, cluster=secrets.token_hex(4), address=address, token_file=token_file_of(plan.token_file)
    )
    return replace(
        plan,
        port=port,
        node_type=HEAD_TYPE,
        autoscaling_config=_written(config, address),
        instance_id=HEAD_ID,
        variables={**plan.variables, **VARIABLES},
    )


def _check_programs(types: Mapping[str, Mapping[str, Any]]) -> None:
    for source in {options["from"] for options in types.values()}:
        missing = [program for program in _PROGRAMS[source] if shutil.which(program) is None]
        if missing:
            raise SourceError(
                f"from = {source!r} needs {', '.join(missing)} on the PATH of this machine. Start the head where "
                f"{missing[0]} is: {'a login node of the cluster' if source == SLURM else 'install an SSH client'}."
            )


def _written(config: Mapping[str, Any], address: str) -> Path:
    """The file, which Ray reads again and again; it goes with the head's record."""
    path = node_records.autoscaling_file(address)
    path.write_text(json.dumps(config, indent=1))
    return path


# ---- the file that Ray's autoscaler reads, from the node types of a machines.toml


HEAD_TYPE, HEAD_ID = "head", "nbaccel-head"
# Slurm's queue may take days, and Ray takes a machine for lost after an hour. One request for each machine, so that a
# refusal counts for that one.
VARIABLES = {
    "RAY_AUTOSCALER_RECONCILE_ALLOCATE_STATUS_TIMEOUT_S": str(30 * 24 * 3600),
    "AUTOSCALER_MAX_LAUNCH_BATCH": "1",
}
_PROVIDER = "nbaccel.machines.sources.provider.MachinesProvider"
_EMPTY_LISTS = (
    "initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands",
    "head_start_ray_commands", "worker_start_ray_commands", "cluster_synced_files", "rsync_exclude", "rsync_filter",
)  # fmt: skip


def autoscaling_config(
    types: Mapping[str, Mapping[str, Any]], *, cluster: str, address: str, token_file: str
) -> dict[str, Any]:
    """The configuration; `types` as `machine_types` returns them. Raises ValueError for a name that the head has."""
    if HEAD_TYPE in types:
        raise ValueError(f"A node type cannot be called {HEAD_TYPE!r}: that is the type of the head's own node.")
    counted = {name: {**options, **_bounds(options)} for name, options in types.items()}
    relaxed = os.environ.get("RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL") == "minor"
    return {
        "cluster_name": cluster,
        "max_workers": sum(options["max"] for options in counted.values()),
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": DEFAULT_IDLE_S / 60,
        "head_node_type": HEAD_TYPE,
        "provider": {
            "type": "external",
            "module": _PROVIDER,
            "disable_node_updaters": True,
            "disable_launch_config_check": True,
            "foreground_node_launch": True,
            "nbaccel": {
                "address": address,
                "token_file": token_file,
                "folder": str(Path.home() / ".cache" / "nbaccel" / "slurm"),
                "head_id": HEAD_ID,
                "head_type": HEAD_TYPE,
                "python_parts": 2 if relaxed else 3,
                "types": counted,
            },
        },
        "available_node_types": {
            HEAD_TYPE: {"resources": {}, "node_config": {}, "max_workers": 0},
            **{name: _ray_type(options) for name, options in counted.items()},
        },
        **{key: [] for key in _EMPTY_LISTS},
        "auth": {},
        "docker": {},
        "file_mounts": {},
        "file_mounts_sync_continuously": False,
    }


def _bounds(options: Mapping[str, Any]) -> dict[str, Any]:
    idle_s = options.get("idle_s")
    most = DEFAULT_MOST if options["from"] == SLURM else len(options["ssh"]["hosts"])
    return {
        "min": options.get("min") or 0,
        "max": options.get("max") or most,
        "idle_s": DEFAULT_IDLE_S if idle_s is None else idle_s,
    }


def _ray_type(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "resources": {name: int(amount) for name, amount in node_resources(options).items()},
        "labels": node_labels(options),
        "node_config": {},
        "min_workers": options["min"],
        "max_workers": options["max"],
        "idle_timeout_s": options["idle_s"],
        "priority": options.get("priority") or 0,
    }

"""Starts the processes of a Ray node, one node at a time, and says why one did not start."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbaccel import accelerators, proc
from nbaccel.light_imports import FOLDER
from nbaccel.machines import node_records, with_parent
from nbaccel.machines.node_records import NodeRecord

_STARTED = "Ray runtime started"
_TOO_SLOW = "timed out during startup"  # Ray gives its processes 15 to 30 s, too little on a busy machine
_ENDED_BADLY = "exited unexpectedly"
_ATTEMPTS = 3
_START_PATIENCE_S = 180.0
_LOOK_EVERY_S = 0.1
_TOLD_LINES = 8


def start(
    line: Sequence[str],
    environ: Mapping[str, str],
    *,
    address: str,
    is_head: bool = False,
    with_us: bool = False,
) -> NodeRecord:
    """Start a node with a `ray start --block` line and return its record once it belongs to the cluster.

    With `with_us` the node ends when this process ends, however that happens. Raises RuntimeError with Ray's last
    words if the node does not start.
    """
    with _one_at_a_time():
        for attempts_left in reversed(range(_ATTEMPTS)):
            record = _begun(line, environ, address=address, is_head=is_head, with_us=with_us)
            try:
                if _starts(record):
                    return record
                said = last_words(record)
            except BaseException:
                node_records.end(record, force=True)
                raise
            too_slow = _TOO_SLOW in said or node_records.is_alive(record)
            node_records.end(record, force=True)
            if not too_slow or not attempts_left:
                raise RuntimeError(f"Ray did not start a node here. Its last words:\n{said}")
    raise AssertionError("there is at least one attempt")


def last_words(record: NodeRecord) -> str:
    """The end of what the node's own process has printed."""
    lines = [line for line in _printed(record).splitlines() if line.strip()]
    return "\n".join(lines[-_TOLD_LINES:]) or "(nothing)"


def ended_badly(record: NodeRecord) -> bool:
    """Whether the node ended because one of Ray's processes died; it was asked to end otherwise."""
    return _ENDED_BADLY in _printed(record)


def _begun(
    line: Sequence[str], environ: Mapping[str, str], *, address: str, is_head: bool, with_us: bool
) -> NodeRecord:
    forget_ended()
    name = secrets.token_hex(6)
    log = node_records.directory() / f"{name}.log"
    own = {node_records.MARK: name, "PYTHONUNBUFFERED": "1"}
    # -S and -I: the program that only replaces itself needs neither packages nor the user's variables.
    command = [sys.executable, "-I", "-S", with_parent.__file__, str(os.getpid()), *line] if with_us else list(line)
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as output:
        process = subprocess.Popen(
            command,
            env={**environ, **own},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C in the terminal is for the command that started the node
        )
    _children.append(process)
    record = NodeRecord(
        name,
        address,
        process.pid,
        proc.stat(process.pid).start_ticks,
        proc.boot_id(),
        str(log),
        is_head=is_head,
        node_type=environ.get("RAY_NODE_TYPE_NAME", ""),
        token_file=environ.get("RAY_AUTH_TOKEN_PATH", ""),
        started_at=time.time(),
    )
    node_records.publish(record)
    return record


_children: list[subprocess.Popen[bytes]] = []  # kept: one that is forgotten while it runs warns when it is collected


def forget_ended() -> None:
    """Read the exit status of nodes that have ended."""
    _children[:] = [process for process in _children if process.poll() is None]


def _starts(record: NodeRecord) -> bool:
    deadline = time.monotonic() + _START_PATIENCE_S
    while _STARTED not in _printed(record):
        if not node_records.is_alive(record) or time.monotonic() > deadline:
            return _STARTED in _printed(record) and node_records.is_alive(record)
        time.sleep(_LOOK_EVERY_S)
    return True


def _printed(record: NodeRecord) -> str:
    try:
        return Path(record.log).read_text(errors="replace")
    except FileNotFoundError:
        return ""


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Two nodes that start on one machine at the same moment disturb each other: one of them aborts now and then."""
    path = os.path.join(tempfile.gettempdir(), f"nbaccel-{os.getuid()}-ray-start.lock")
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


# ---- what `ray start` is told about this machine: the devices that nbaccel has found, as options and variables


RAY_START = [sys.executable, "-m", "ray.scripts.scripts", "start"]  # of this environment, whatever the PATH says


def devices_here(asked: Mapping[str, Any]) -> accelerators.NodeDevices:
    """The devices that this machine offers. Raises ValueError for quantities that it cannot offer."""
    machine = accelerators.RealMachine()
    detection = accelerators.detect(machine, gpu_vendor=asked.get("gpu_vendor"))
    return accelerators.resolve_resources(
        detection, num_gpus=asked.get("num_gpus"), resources=asked.get("resources"), environ=machine.environ
    )


def ray_start_options(node: accelerators.NodeDevices, asked: Mapping[str, Any]) -> list[str]:
    """The options that offer these devices and what is asked for; Ray itself knows fewer families."""
    quantities = {**node.quantities, **(asked.get("resources") or {})}
    gpus = quantities.pop("GPU", 0) if asked.get("num_gpus") is None else asked["num_gpus"]
    quantities.pop("GPU", None)
    options = [f"--num-gpus={gpus:g}"]
    if asked.get("num_cpus") is not None:
        options.append(f"--num-cpus={asked['num_cpus']}")
    if asked.get("object_store_memory") is not None:
        options.append(f"--object-store-memory={asked['object_store_memory']}")
    if quantities:
        options.append(f"--resources={json.dumps(quantities)}")
    labels = {**node.labels, **(asked.get("labels") or {})}
    if labels:
        options.append("--labels=" + ",".join(f"{key}={value}" for key, value in labels.items()))
    return options


def node_environment(
    environ: Mapping[str, str], node: accelerators.NodeDevices, node_type: str | None
) -> dict[str, str]:
    """The variables of the node: its type groups it in views, and stays its number where it is not known."""
    kind = node_type or next(iter(node.labels.values()), "")
    path = os.pathsep.join(filter(None, (str(FOLDER), environ.get("PYTHONPATH"))))  # Ray's processes start faster
    return {**environ, "PYTHONPATH": path, **({"RAY_NODE_TYPE_NAME": kind} if kind else {})}


def offer_in_words(node: accelerators.NodeDevices, asked: Mapping[str, Any]) -> str:
    """What the node offers, in words: "2 GPU, 4 TPU"."""
    counted = {resource: float(len(found)) for resource, found in node.devices.items() if found}
    if asked.get("num_gpus") is not None:
        counted["GPU"] = asked["num_gpus"]
    return ", ".join(f"{amount:g} {name}" for name, amount in counted.items() if amount) or "no accelerators"

"""One machine of a source, as the provider sees it, and what a source does."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from nbaccel.light_imports import FOLDER
from nbaccel.machines.sources import node_program
from nbaccel.machines.sources.node_program import SAID

# ---- runs a program of the batch system with a limit of time, so that one that hangs does not stop what asked it


ANSWER_TIMEOUT_S = 20.0  # a busy controller of Slurm answers within some seconds


class SourceError(RuntimeError):
    """A source of machines could not do what it was asked; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ProgramAnswer:
    """What a program has printed, and how it ended."""

    code: int
    out: str
    err: str


def ask(
    line: Sequence[str],
    *,
    given: str = "",
    environ: Mapping[str, str] | None = None,
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> ProgramAnswer:
    """Run the program with `given` as its input. Raises SourceError if it is missing or does not end in time."""
    try:
        process = subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            text=True,
            errors="replace",
            start_new_session=True,  # its children end with it
        )
    except OSError as error:
        raise SourceError(
            f"{line[0]} cannot be run on this machine ({error.strerror}). It has to be on the PATH of the head."
        ) from None
    with process:
        try:
            out, err = process.communicate(given, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise SourceError(
                f"{line[0]} has not answered for {timeout_s:g} s and was ended. Try it by itself: {line[0]}"
            ) from None
        finally:
            _end_group(process)
    return ProgramAnswer(process.returncode, out, err)


def _end_group(process: subprocess.Popen[str]) -> None:
    """End what is left of the program; nothing, if it has ended by itself with all that it had started."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)


class MachineState(Enum):
    """How far a machine is; whether its node has joined is Ray's to say."""

    WAITING = "waiting"  # for a place in the queue, or for the connection
    STARTING = "starting"  # Python runs there, or Ray does
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class FarMachine:
    """A machine that was asked for; `said` is the stage or the reason in words."""

    id: str
    node_type: str
    state: MachineState
    said: str
    place: str = ""  # the host, once it is known


class MachineSource(Protocol):
    """Brings machines. Each call may take as long as the limit of its programs, and raises SourceError."""

    def begin(self, node_type: str) -> FarMachine:
        """Ask for a machine."""
        ...

    def look(self) -> list[FarMachine]:
        """All machines that were asked for and not ended, and those that have ended by themselves of late."""
        ...

    def end(self, id: str) -> None:
        """End a machine; one that has ended already is no error."""
        ...

    def close(self) -> None:
        """End what cannot live without this process."""
        ...


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """What all nodes of a cluster have in common."""

    cluster: str  # a name that no other cluster of this user has
    address: str
    ray: str
    python: str
    python_parts: int = 3  # so many numbers of Python's version have to be the same
    token_file: str = ""


def told_to_node(
    settings: NodeSettings, name: str, options: Mapping[str, Any], instance: str, **further: Any
) -> dict[str, Any]:
    """The settings of `node_program` for a node of a type; `instance` is the id that Ray's autoscaler knows it by."""
    return {
        "address": settings.address,
        "options": node_options(settings.address, options),
        "variables": {"RAY_CLOUD_INSTANCE_ID": instance, "RAY_NODE_TYPE_NAME": name},
        "ray": settings.ray,
        "python": settings.python,
        "python_parts": settings.python_parts,
        "lighter_imports": str(FOLDER),
        **further,
    }


def node_options(address: str, options: Mapping[str, Any]) -> list[str]:
    """The options of `ray start` for a node of a type: it offers what the type says, as the autoscaler counts on it."""
    offered = node_resources(options)
    line = ["--disable-usage-stats", "--dashboard-agent-listen-port=0", f"--address={address}"]
    line += [f"--num-cpus={offered.pop('CPU'):g}", f"--num-gpus={offered.pop('GPU', 0):g}"]
    if "memory" in offered:
        line.append(f"--memory={offered.pop('memory'):.0f}")
    if offered:
        line.append(f"--resources={json.dumps(offered)}")
    labels = node_labels(options)
    if labels:
        line.append("--labels=" + ",".join(f"{key}={value}" for key, value in labels.items()))
    return line


def node_resources(options: Mapping[str, Any]) -> dict[str, float]:
    """What a node of a type has, by Ray's names."""
    cpus = options.get("num_cpus")
    offered = {"CPU": 1 if cpus is None else cpus, **(options.get("resources") or {})}
    if options.get("num_gpus"):
        offered["GPU"] = options["num_gpus"]
    if options.get("memory"):
        offered["memory"] = options["memory"]
    if options.get("accelerator_type"):
        offered[f"accelerator_type:{options['accelerator_type']}"] = 1  # Ray's own, by which tasks ask for a type
    return offered


def node_labels(options: Mapping[str, Any]) -> dict[str, str]:
    """The labels of a node of a type."""
    kind = options.get("accelerator_type")
    return {**({"ray.io/accelerator-type": kind} if kind else {}), **(options.get("labels") or {})}


def last_said(lines: Iterable[str]) -> dict[str, Any]:
    """The last step that `node_program` has told; empty if it has told none."""
    found: dict[str, Any] = {}
    for line in lines:
        if line.startswith(SAID):
            try:
                found = json.loads(line[len(SAID) :])
            except ValueError:
                continue  # half a line
    return found


def stage_in_words(said: Mapping[str, Any], settings: NodeSettings, place: str) -> str:
    """What `node_program` has told, as words: a stage, or a sentence that says what is wrong and what to do."""
    stage = said.get("stage")
    if stage == "refused":
        return _refusal_in_words(said, settings, place)
    if stage == "ended":
        return f"Ray has ended on {place}: {said.get('why') or 'it gave no reason'}"
    return {
        "waiting": f"waits on {place} until another node has started there",
        "starting": f"Ray starts on {place}",
        "started": f"Ray runs on {place}",
    }.get(str(stage), "")


def _refusal_in_words(said: Mapping[str, Any], settings: NodeSettings, place: str) -> str:
    here, why = said.get("here", ""), said.get("why", "")
    match said.get("kind"):
        case "no ray":
            return (
                f"{here} on {place} has no Ray. Install it there: {here} -m pip install ray=={settings.ray}, or say "
                "python = the path of one that has it."
            )
        case "other ray":
            return (
                f"{place} has Ray {here}, the head {settings.ray}. Both have to be the same: pip install "
                f"ray=={settings.ray} on {place}."
            )
        case "other python":
            return (
                f"{place} runs Python {here}, the head Python {settings.python}. Ray needs the same: say python = the "
                f"path of a Python {settings.python} in [types.NAME]."
            )
        case "no token":
            return (
                f"The cluster's token is not on {place} ({here}: {why}). Compute nodes have to see the head's home, or "
                f"copy it: scp {here} {place}:{here}"
            )
        case "open token":
            return f"Others may read the token {here} on {place} (its mode is {why}). Type there: chmod 600 {here}"
        case "no way":
            return (
                f"{place} does not reach the head at {here} ({why}). Firewalls between machines are usual: "
                "start the head on a machine that the nodes reach."
            )
    return f"{place} refuses to become a node: {said}"


# ----
# how Python is run on a machine that may have nothing of nbaccel: the program comes with the command, or after it


# What Python is told to do. The program and its settings are arguments, or they come through the input: arguments are
# seen by everybody on that machine, and the token must not be.
FROM_ARGUMENTS = "import sys; exec(sys.argv[1]); start(sys.argv[2])"
FROM_INPUT = (
    "import sys; line = sys.stdin.buffer.readline; read = sys.stdin.buffer.read; exec(read(int(line()))); "
    "start(read(int(line())))"
)


def far_command(python: str | None, told: str) -> str:
    """The words for a shell that run Python there; without a path, the one that runs here."""
    return f"{_quoted(python or sys.executable)} -u -c {shlex.quote(told)}"


def far_program() -> str:
    """The text of `node_program`."""
    return Path(node_program.__file__).read_text()


def through_input(settings: str) -> bytes:
    """The program and its settings, as FROM_INPUT reads them."""
    parts = (far_program().encode(), settings.encode())
    return b"".join(b"%d\n%s" % (len(part), part) for part in parts)


def _quoted(path: str) -> str:
    """The path as one word for the shell there, whose home is another than here."""
    if path.startswith("~/"):
        return f"~/{shlex.quote(path[2:])}"
    return shlex.quote(path)

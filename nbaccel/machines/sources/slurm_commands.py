"""The command lines of Slurm, the script of a job that becomes a node, and what `squeue` and `sinfo` print."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbaccel.machines.sources import far_python

SBATCH = ["sbatch", "--parsable"]
_GONE = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
    "PREEMPTED", "REVOKED", "SPECIAL_EXIT", "STOPPED", "TIMEOUT",
}  # fmt: skip
_GPUS = re.compile(r"-G|--(gres|gpus|gpus-per-node|gpus-per-task|gpus-per-socket)\b")
_CPUS = re.compile(r"-[cn]|--(cpus-per-task|ntasks|cpus-per-gpu|exclusive)\b")
_MEMORY = re.compile(r"--(mem|mem-per-cpu|mem-per-gpu)\b")
_FOUND_GPUS = re.compile(r"\bgpu(?::[^:,()]+)?:(\d+)")


@dataclass(frozen=True, slots=True)
class JobLine:
    """One job, as `squeue` prints it."""

    id: str
    state: str  # Slurm's own word: PENDING, RUNNING, ...
    name: str
    starts_at: str  # what Slurm expects, as it writes it; "" if it does not say
    nodes: str
    reason: str

    @property
    def has_ended(self) -> bool:
        return self.state in _GONE


def list_jobs(names: Sequence[str], user: str) -> list[str]:
    """The jobs of these names, also those that have ended a short time ago."""
    return ["squeue", "-h", "-t", "all", f"--user={user}", f"--name={','.join(names)}", "-o", "%i|%T|%j|%S|%N|%r"]


def cancel(job: str) -> list[str]:
    return ["scancel", "--", job]


def list_node_gpus() -> list[str]:
    return ["sinfo", "-h", "-N", "-o", "%P|%G"]


def read_jobs(printed: str) -> list[JobLine]:
    """The lines of `list_jobs`; what is no such line is left out."""
    parts = [line.split("|", 5) for line in printed.splitlines()]
    return [
        JobLine(id.strip(), state, name, "" if starts_at == "N/A" else starts_at, nodes, reason.strip())
        for id, state, name, starts_at, nodes, reason in (part for part in parts if len(part) == 6)
    ]


def read_job_id(printed: str) -> str | None:
    """The id that `sbatch --parsable` prints: "12", or "12;cluster". Sites may print greetings before it."""
    found = re.findall(r"^(\d+)(?:;\S+)?$", printed, re.MULTILINE)
    return found[-1] if found else None


def most_gpus(printed: str) -> dict[str, int]:
    """The GPUs of the largest node of each partition, from `list_node_gpus`."""
    most: dict[str, int] = {}
    for line in printed.splitlines():
        partition, _, gres = line.partition("|")
        gpus = sum(map(int, _FOUND_GPUS.findall(gres)))
        name = partition.strip().rstrip("*")
        most[name] = max(most.get(name, 0), gpus)
    return most


def job_name(cluster: str, node_type: str) -> str:
    """What finds the jobs of one cluster again; the name of a type may have any characters."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", node_type)
    if plain != node_type:  # two names may look alike then
        plain += f".{hashlib.blake2b(node_type.encode(), digest_size=4).hexdigest()}"
    return f"nbaccel-{cluster}-{plain}"


def directives(options: Mapping[str, Any]) -> list[str]:
    """The options of sbatch: the user's own, and what the type asks for if they do not say it."""
    own = list(options["slurm"]["directives"])
    asked = []
    if not any(map(_CPUS.match, own)):
        asked.append(f"--cpus-per-task={options.get('num_cpus') or 1}")
    if options.get("num_gpus") and not any(map(_GPUS.match, own)):
        asked.append(f"--gres=gpu:{options['num_gpus']}")
    if options.get("memory") and not any(map(_MEMORY.match, own)):
        asked.append(f"--mem={-(-options['memory'] // (1 << 20))}M")
    return ["--nodes=1", *asked, *own]


def job_script(name: str, log: str, options: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """The script that `sbatch` reads: it has no secret in it, since Slurm shows scripts to administrators."""
    head = [f"--job-name={name}", f"--output={log}", "--open-mode=append", "--no-requeue", "--signal=TERM@30"]
    lines = [f"#SBATCH {line}" for line in [*head, *directives(options)]]
    # srun passes the signal of `scancel` and of the time limit on to the program; the script's own shell gets none.
    python = far_python.command(options["slurm"]["python"], far_python.FROM_ARGUMENTS)
    arguments = f"{shlex.quote(far_python.program())} {shlex.quote(json.dumps(settings))}"
    return "\n".join(["#!/bin/bash", *lines, f"exec srun --ntasks=1 {python} {arguments}", ""])

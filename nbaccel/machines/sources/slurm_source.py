"""Jobs of Slurm as nodes: `sbatch` asks for one, `squeue` says how far it is, `scancel` ends it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbaccel import plain_files
from nbaccel.machines.sources import machines
from nbaccel.machines.sources.machines import FarMachine, MachineState, NodeSettings, ProgramAnswer, SourceError, ask

_MOST_LOG_BYTES = 1 << 20
_GONE_ALREADY = ("invalid job id", "already completing")


class SlurmSource:
    """The jobs of one cluster. The log of each lies in a folder that the compute nodes have to see, as the home."""

    def __init__(
        self,
        settings: NodeSettings,
        types: Mapping[str, Mapping[str, Any]],
        folder: Path,
        ask: Callable[..., ProgramAnswer] = ask,
    ) -> None:
        self._settings = settings
        self._types = types
        self._folder = folder
        self._ask = ask
        self._names = {job_name(settings.cluster, name): name for name in types}
        self._user = str(os.getuid())

    def begin(self, node_type: str) -> FarMachine:
        options = self._types[node_type]
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        told = machines.told_to_node(
            self._settings, node_type, options, "slurm-$SLURM_JOB_ID", token_file=self._settings.token_file
        )
        name = job_name(self._settings.cluster, node_type)
        script = job_script(name, f"{self._folder}/%j.log", options, told)
        answer = self._ask(SBATCH, given=script, environ=_environment())
        job = read_job_id(answer.out)
        if answer.code or job is None:
            raise error_of(answer.err or answer.out, directives(options), self._most_gpus(answer.err))
        return FarMachine(f"slurm-{job}", node_type, MachineState.WAITING, why_waiting(""))

    def look(self) -> list[FarMachine]:
        answer = self._ask(list_jobs(list(self._names), self._user))
        if answer.code:
            raise error_of(answer.err, ["squeue"], {})
        jobs = read_jobs(answer.out)
        return [self._machine(job) for job in jobs if job.name in self._names]

    def end(self, id: str) -> None:
        answer = self._ask(scancel_line(id.removeprefix("slurm-")))
        if answer.code and not any(words in answer.err.lower() for words in _GONE_ALREADY):
            raise error_of(answer.err, ["scancel"], {})

    def close(self) -> None:
        """Jobs end by themselves when the head does not answer any more."""

    def _machine(self, job: JobLine) -> FarMachine:
        id, node_type = f"slurm-{job.id}", self._names[job.name]
        if job.state in ("PENDING", "REQUEUED", "CONFIGURING"):
            waits = why_waiting(job.reason, job.starts_at)
            return FarMachine(id, node_type, MachineState.WAITING, f"job {job.id} {waits}")
        said = machines.last_said(self._log(job.id))
        told = machines.stage_in_words(said, self._settings, job.nodes or "its node")
        if not job.has_ended:
            told = told or f"job {job.id} runs on {job.nodes}"
            return FarMachine(id, node_type, MachineState.STARTING, told, job.nodes)
        if said.get("stage") not in ("refused", "ended"):
            told = f"job {job.id} has ended on {job.nodes or 'no node'}: {why_ended(job.state)}"
        return FarMachine(id, node_type, MachineState.ENDED, told, job.nodes)

    def _log(self, job: str) -> list[str]:
        try:
            return plain_files.read(self._folder / f"{job}.log", _MOST_LOG_BYTES).decode(errors="replace").splitlines()
        except OSError:  # the job has not begun, or the folder is not seen by its node
            return []

    def _most_gpus(self, said: str) -> dict[str, int]:
        """What the largest nodes have; asked only where a job was too large for all of them."""
        if "node configuration" not in said.lower():
            return {}
        try:
            return most_gpus(self._ask(list_node_gpus()).out)
        except SourceError:
            return {}


def _environment() -> dict[str, str]:
    """This process's variables without those that make it the head: `sbatch` gives all to the job."""
    kept = ("RAY_AUTH_TOKEN", "RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL")
    return {
        name: value
        for name, value in os.environ.items()
        if name in kept or not name.startswith(("RAY_", "NBACCEL_RAY_", "SBATCH_", "SLURM_JOB", "PYTHON"))
    }


# ---- the command lines of Slurm, the script of a job that becomes a node, and what `squeue` and `sinfo` print


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


def scancel_line(job: str) -> list[str]:
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
    python = machines.far_command(options["slurm"]["python"], machines.FROM_ARGUMENTS)
    arguments = f"{shlex.quote(machines.far_program())} {shlex.quote(json.dumps(settings))}"
    return "\n".join(["#!/bin/bash", *lines, f"exec srun --ntasks=1 {python} {arguments}", ""])


# ---- what Slurm says, in words: why a job waits, and why one is refused


_DOWN = ("unable to contact slurm controller", "unable to establish control", "connection refused", "socket timed out")
_AUTHENTICATION = ("munge", "authentication", "invalid credential", "protocol authentication")
_TOO_LARGE = "requested node configuration is not available"
# What sbatch says, and what helps.
_REFUSED = {
    "invalid partition": "Name one of the partitions that `sinfo` lists: directives = ['--partition=NAME'].",
    "invalid account": "`sacctmgr show associations` lists yours: directives = ['--account=NAME'].",
    "invalid qos": "Name a quality of service that you may use: directives = ['--qos=NAME'].",
    "accounting/qos policy": "`sacctmgr show qos` lists the limits of your account and quality of service.",
    "time limit is invalid": "The partition allows less: `sinfo -o '%P %l'`. Write directives = ['--time=01:00:00'].",
    "memory specification": "No node has so much memory; `sinfo -o '%P %m'` lists it in MB. Lower memory of the type.",
    "invalid generic resource": "This Slurm has no such devices; `sinfo -o '%P %G'` lists those that it has.",
    "group not permitted": "You may not use this partition; ask the administrators, or name another one.",
    "access/permission denied": "You may not submit such jobs; ask the administrators.",
    "unrecognized option": "The directive is no option of this Slurm's sbatch; `man sbatch` lists them.",
    "invalid feature": "No node has this feature; `sinfo -o '%P %f'` lists those that there are.",
    "more processors requested than permitted": "The partition allows fewer CPUs. Lower num_cpus of the type.",
}
# The whole word of `squeue`'s column REASON.
_WAITS = {
    "": "Slurm has not looked at the job yet",
    "None": "Slurm has not looked at the job yet",
    "Resources": "the job is next, and waits until other jobs free enough devices, CPUs or memory",
    "Priority": "other jobs have a higher priority and go first",
    "Dependency": "the job waits for another job to end",
    "DependencyNeverSatisfied": "the job it depends on has failed, so this one never starts: take --dependency away",
    "BeginTime": "the job may not start before the time that --begin names",
    "JobHeldUser": "the job was held by its user; `scontrol release` lets it start",
    "JobHeldAdmin": "an administrator holds the job; ask why",
    "PartitionDown": "the partition is down: an administrator has to bring it up",
    "PartitionInactive": "the partition takes no jobs now",
    "PartitionNodeLimit": "the partition allows fewer nodes for each job",
    "PartitionTimeLimit": "the job asks for more time than its partition allows: lower --time",
    "Licenses": "a licence that the job asks for is not free",
    "Reservation": "the job waits for its reservation to begin",
    "BadConstraints": "no node has what the job asks for, so it never starts",
    "InvalidAccount": "the account of the job is not valid any more",
    "InvalidQOS": "the quality of service of the job is not valid any more",
    "NodeDown": "a node that the job needs is down",
    "Cleaning": "an earlier run of the job is being cleaned up",
    "JobLaunchFailure": "the job could not be launched; the log of slurmd on its node says why",
    "Prolog": "the node is being prepared for the job",
}
_LIMIT = re.compile(r"(?P<whose>QOS|Assoc)(?P<most>Max|Grp)(?P<what>.+)")
_LIMITED = {
    "GRES": "devices", "Gres": "devices", "Cpu": "CPUs", "CPU": "CPUs", "Mem": "memory", "Node": "nodes",
    "Jobs": "jobs", "SubmitJobs": "submitted jobs", "Wall": "time", "Billing": "billing units",
}  # fmt: skip


def why_waiting(reason: str, starts_at: str = "") -> str:
    """Why a job waits, from the reason that `squeue` gives, and when Slurm expects to start it.

    >>> why_waiting("Priority")
    'waits in the queue: other jobs have a higher priority and go first (Priority)'
    """
    expected = f"; Slurm expects to start it at {starts_at.replace('T', ' ')}" if starts_at else ""
    word = reason.strip("() ")
    if word in _WAITS:
        told = f" ({word})" if word else ""
        return f"waits in the queue: {_WAITS[word]}{told}{expected}"
    limit = _LIMIT.match(word)
    if limit:
        return f"waits in the queue: {_limit_in_words(**limit.groupdict())} ({word}){expected}"
    if word.startswith("ReqNodeNotAvail") or "DOWN, DRAINED or reserved" in word:
        return f"waits in the queue: nodes that it could run on are down, drained or reserved ({word}){expected}"
    return f"waits in the queue: Slurm says {word}{expected}"


def _limit_in_words(whose: str, most: str, what: str) -> str:
    of = "quality of service (QOS)" if whose == "QOS" else "account"
    things = next((words for name, words in _LIMITED.items() if what.startswith(name)), "resources")
    if most == "Grp":
        return f"all jobs of its {of} together have as many {things} as they may; it starts when one of them ends"
    return f"your jobs have as many {things} as the {of} allows; it starts when one of them ends"


def error_of(said: str, directives: Sequence[str], most_gpus: Mapping[str, int]) -> SourceError:
    """The last words of `sbatch` as a sentence that says what to do; `most_gpus` by partition, of one node."""
    words = re.sub(r"^(sbatch|squeue|scancel): (error: )?", "", " ".join(said.split()[:80])) or "it gave no reason"
    low = said.lower()
    asked = " ".join(directives)
    if _TOO_LARGE in low:
        return SourceError(
            f"Slurm refuses `{asked}`: Requested node configuration is not available.{_largest(most_gpus)}"
        )
    if any(down in low for down in _DOWN):
        return SourceError(
            f"Slurm does not answer: its controller (slurmctld) is down or cannot be reached from the head. `scontrol "
            f"ping` says which. It says: {words}"
        )
    for part, helps in _REFUSED.items():
        if part in low:
            return SourceError(f"Slurm refuses `{asked}`: {words}. {helps}")
    if any(part in low for part in _AUTHENTICATION):
        return SourceError(
            f"Slurm does not know who asks: is munged running on the head's machine, with the cluster's key? It says: "
            f"{words}"
        )
    return SourceError(f"Slurm refuses `{asked}`: {words}")


def _largest(most_gpus: Mapping[str, int]) -> str:
    return "".join(
        f" The largest node of partition {name} has {gpus or 'no'} GPU{'' if gpus == 1 else 's'}."
        for name, gpus in most_gpus.items()
    )


def why_ended(state: str) -> str:
    """Why a job has ended before it was asked to."""
    return {
        "TIMEOUT": "its time limit is over (--time)",
        "CANCELLED": "it was cancelled (scancel), by its user or an administrator",
        "PREEMPTED": "a job with a higher priority took its place",
        "NODE_FAIL": "its node failed",
        "OUT_OF_MEMORY": "it used more memory than it had asked for (memory of the type, or --mem)",
    }.get(state, f"Slurm says {state}")

"""What Slurm says, in words: why a job waits, and why one is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nbaccel.machines.sources.programs import SourceRefusal

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


def refusal_of(said: str, directives: Sequence[str], most_gpus: Mapping[str, int]) -> SourceRefusal:
    """The last words of `sbatch` as a sentence that says what to do; `most_gpus` by partition, of one node."""
    words = re.sub(r"^(sbatch|squeue|scancel): (error: )?", "", " ".join(said.split()[:80])) or "it gave no reason"
    low = said.lower()
    asked = " ".join(directives)
    if _TOO_LARGE in low:
        return SourceRefusal(
            f"Slurm refuses `{asked}`: Requested node configuration is not available.{_largest(most_gpus)}"
        )
    if any(down in low for down in _DOWN):
        return SourceRefusal(
            f"Slurm does not answer: its controller (slurmctld) is down or cannot be reached from the head. `scontrol "
            f"ping` says which. It says: {words}"
        )
    for part, helps in _REFUSED.items():
        if part in low:
            return SourceRefusal(f"Slurm refuses `{asked}`: {words}. {helps}")
    if any(part in low for part in _AUTHENTICATION):
        return SourceRefusal(
            f"Slurm does not know who asks: is munged running on the head's machine, with the cluster's key? It says: "
            f"{words}"
        )
    return SourceRefusal(f"Slurm refuses `{asked}`: {words}")


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

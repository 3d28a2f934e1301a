"""Jobs of Slurm as nodes: `sbatch` asks for one, `squeue` says how far it is, `scancel` ends it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nbaccel import plain_files
from nbaccel.machines.sources import machines, slurm_commands, slurm_words
from nbaccel.machines.sources.machines import FarMachine, MachineState, NodeSettings
from nbaccel.machines.sources.programs import ProgramAnswer, SourceRefusal, ask
from nbaccel.machines.sources.slurm_commands import JobLine

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
        self._names = {slurm_commands.job_name(settings.cluster, name): name for name in types}
        self._user = str(os.getuid())

    def begin(self, node_type: str) -> FarMachine:
        options = self._types[node_type]
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        told = machines.told_to_node(
            self._settings, node_type, options, "slurm-$SLURM_JOB_ID", token_file=self._settings.token_file
        )
        name = slurm_commands.job_name(self._settings.cluster, node_type)
        script = slurm_commands.job_script(name, f"{self._folder}/%j.log", options, told)
        answer = self._ask(slurm_commands.SBATCH, given=script, environ=_environment())
        job = slurm_commands.read_job_id(answer.out)
        if answer.code or job is None:
            raise slurm_words.refusal_of(
                answer.err or answer.out, slurm_commands.directives(options), self._most_gpus(answer.err)
            )
        return FarMachine(f"slurm-{job}", node_type, MachineState.WAITING, slurm_words.why_waiting(""))

    def look(self) -> list[FarMachine]:
        answer = self._ask(slurm_commands.list_jobs(list(self._names), self._user))
        if answer.code:
            raise slurm_words.refusal_of(answer.err, ["squeue"], {})
        jobs = slurm_commands.read_jobs(answer.out)
        return [self._machine(job) for job in jobs if job.name in self._names]

    def end(self, id: str) -> None:
        answer = self._ask(slurm_commands.cancel(id.removeprefix("slurm-")))
        if answer.code and not any(words in answer.err.lower() for words in _GONE_ALREADY):
            raise slurm_words.refusal_of(answer.err, ["scancel"], {})

    def close(self) -> None:
        """Jobs end by themselves when the head does not answer any more."""

    def _machine(self, job: JobLine) -> FarMachine:
        id, node_type = f"slurm-{job.id}", self._names[job.name]
        if job.state in ("PENDING", "REQUEUED", "CONFIGURING"):
            waits = slurm_words.why_waiting(job.reason, job.starts_at)
            return FarMachine(id, node_type, MachineState.WAITING, f"job {job.id} {waits}")
        said = machines.last_said(self._log(job.id))
        told = machines.stage_in_words(said, self._settings, job.nodes or "its node")
        if not job.has_ended:
            told = told or f"job {job.id} runs on {job.nodes}"
            return FarMachine(id, node_type, MachineState.STARTING, told, job.nodes)
        if said.get("stage") not in ("refused", "ended"):
            told = f"job {job.id} has ended on {job.nodes or 'no node'}: {slurm_words.why_ended(job.state)}"
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
            return slurm_commands.most_gpus(self._ask(slurm_commands.list_node_gpus()).out)
        except SourceRefusal:
            return {}


def _environment() -> dict[str, str]:
    """This process's variables without those that make it the head: `sbatch` gives all to the job."""
    kept = ("RAY_AUTH_TOKEN", "RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL")
    return {
        name: value
        for name, value in os.environ.items()
        if name in kept or not name.startswith(("RAY_", "NBACCEL_RAY_", "SBATCH_", "SLURM_JOB", "PYTHON"))
    }

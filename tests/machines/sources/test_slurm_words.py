"""What Slurm says, in words."""

from __future__ import annotations

import pytest

from nbaccel.machines.sources import slurm_source


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Resources", "waits until other jobs free enough devices"),
        ("Priority", "other jobs have a higher priority"),
        ("(Priority)", "other jobs have a higher priority"),
        ("None", "has not looked at the job yet"),
        ("QOSMaxGRESPerUser", "your jobs have as many devices as the quality of service (QOS) allows"),
        ("QOSMaxJobsPerUserLimit", "your jobs have as many jobs as"),
        ("QOSGrpCpuLimit", "all jobs of its quality of service (QOS) together have as many CPUs"),
        ("AssocGrpMemLimit", "all jobs of its account together have as many memory"),
        ("AssocMaxNodePerJobLimit", "as many nodes as the account allows"),
        ("QOSMaxSomethingNew", "as many resources as"),
        ("ReqNodeNotAvail, UnavailableNodes:n1", "down, drained or reserved (ReqNodeNotAvail, UnavailableNodes:n1)"),
        ("Nodes required for job are DOWN, DRAINED or reserved for jobs", "down, drained or reserved"),
        ("DependencyNeverSatisfied", "never starts"),
        ("PartitionTimeLimit", "lower --time"),
        ("JobHeldUser", "scontrol release"),
        ("SomethingNew", "Slurm says SomethingNew"),
    ],
)
def test_a_waiting_jobs_reason_is_told_in_words(reason: str, words: str) -> None:
    assert words in slurm_source.why_waiting(reason)


def test_slurms_own_guess_is_told() -> None:
    assert "start it at 2026-01-02 03:04:05" in slurm_source.why_waiting("Priority", "2026-01-02T03:04:05")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "sbatch: error: Batch job submission failed: Requested node configuration is not available",
            "Slurm refuses `--gres=gpu:4`: Requested node configuration is not available. The largest node of "
            "partition gpu has 1 GPU.",
        ),
        ("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", "is down"),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", "is down"),
        ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", "`scontrol ping`"),
        ("sbatch: error: invalid partition specified: nope", "partitions that `sinfo` lists"),
        ("sbatch: error: Batch job submission failed: Invalid account or account/partition combination", "--account"),
        ("sbatch: error: Batch job submission failed: Invalid qos specification", "--qos="),
        (
            "sbatch: error: QOSMaxSubmitJobPerUserLimit\nJob violates accounting/QOS policy (job submit limit)",
            "show qos",
        ),
        ("sbatch: error: Requested time limit is invalid (missing or exceeds some limit)", "--time="),
        ("sbatch: error: Memory specification can not be satisfied", "No node has so much memory"),
        ("sbatch: error: Invalid generic resource (gres) specification", "no such devices"),
        ("sbatch: unrecognized option '--nope'", "no option of this Slurm"),
        ("sbatch: error: Munge encode failed: Failed to access socket: No such file", "is munged running"),
        ("sbatch: error: something new", "Slurm refuses `--gres=gpu:4`: something new"),
        ("", "it gave no reason"),
    ],
)
def test_a_refusal_says_what_to_do(said: str, words: str) -> None:
    assert words in str(slurm_source.error_of(said, ["--gres=gpu:4"], {"gpu": 1}))


@pytest.mark.parametrize("state", ["TIMEOUT", "CANCELLED", "PREEMPTED", "NODE_FAIL", "OUT_OF_MEMORY", "FAILED"])
def test_an_ended_job_says_why(state: str) -> None:
    assert slurm_source.why_ended(state)

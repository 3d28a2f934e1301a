"""Jobs as machines: asked for, looked at and ended by Slurm's programs, which may hang, refuse or be missing."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from nbaccel.machines.sources import machines
from nbaccel.machines.sources.machines import MachineState, ProgramAnswer, SourceError
from nbaccel.machines.sources.slurm_source import SlurmSource
from tests.machines.sources.types import SETTINGS, slurm_type


class Slurm:
    """Slurm's programs as functions: what they answer, and how they were asked."""

    def __init__(self, **answers: ProgramAnswer) -> None:
        self.answers = answers
        self.asked: list[tuple[list[str], str, Mapping[str, str] | None]] = []

    def __call__(
        self, line: Sequence[str], *, given: str = "", environ: Mapping[str, str] | None = None
    ) -> ProgramAnswer:
        self.asked.append((list(line), given, environ))
        return self.answers[line[0]]


def said(out: str = "", err: str = "", code: int = 0) -> ProgramAnswer:
    return ProgramAnswer(code, out, err)


def source(folder: Path, slurm: Slurm) -> SlurmSource:
    return SlurmSource(SETTINGS, {"gpu": slurm_type("--gres=gpu:4", num_gpus=4)}, folder, slurm)


def test_a_job_is_submitted_without_the_variables_of_the_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_CLOUD_INSTANCE_ID", "head")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "ab")
    monkeypatch.setenv("SLURM_CONF", "/c")
    slurm = Slurm(sbatch=said("12\n"))
    machine = source(tmp_path / "logs", slurm).begin("gpu")
    assert (machine.id, machine.state) == ("slurm-12", MachineState.WAITING)
    ((line, script, environ),) = slurm.asked
    assert line == ["sbatch", "--parsable"] and "RAY_CLOUD_INSTANCE_ID" in script
    assert environ is not None and "RAY_CLOUD_INSTANCE_ID" not in environ
    assert environ["RAY_AUTH_TOKEN"] == "ab" and environ["SLURM_CONF"] == "/c"


def test_a_job_that_no_node_can_hold_is_refused_with_what_the_largest_has(tmp_path: Path) -> None:
    slurm = Slurm(sbatch=said(err="Requested node configuration is not available", code=1), sinfo=said("gpu*|gpu:1\n"))
    with pytest.raises(SourceError, match="The largest node of partition gpu has 1 GPU"):
        source(tmp_path, slurm).begin("gpu")


def test_the_states_of_jobs_are_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "13.log").write_text('a line of Ray\'s\n@nbaccel {"stage": "starting"}\n@nbaccel {"stage"')
    (tmp_path / "14.log").write_text(
        '@nbaccel {"stage": "refused", "kind": "no way", "here": "10.0.0.5:6379", "why": "No route to host"}\n'
    )
    lines = [
        "12|PENDING|nbaccel-c1-gpu|N/A||Resources",
        "13|RUNNING|nbaccel-c1-gpu|N/A|n1|None",
        "14|FAILED|nbaccel-c1-gpu|N/A|n2|None",
        "15|TIMEOUT|nbaccel-c1-gpu|N/A|n2|None",
        "16|RUNNING|somebody-elses|N/A|n2|None",
        "17|RUNNING|nbaccel-c1-gpu|N/A|n3|None",
    ]
    waiting, starting, refused, over, running = source(tmp_path, Slurm(squeue=said("\n".join(lines)))).look()
    assert waiting.state is MachineState.WAITING and "(Resources)" in waiting.said
    assert starting.state is MachineState.STARTING and starting.said == "Ray starts on n1"
    assert refused.state is MachineState.ENDED and "n2 does not reach the head at 10.0.0.5:6379" in refused.said
    assert over.state is MachineState.ENDED and "time limit is over" in over.said
    assert running.said == "job 17 runs on n3"


def test_a_slurm_that_is_down_is_told(tmp_path: Path) -> None:
    slurm = Slurm(squeue=said(err="slurm_load_jobs error: Unable to contact slurm controller", code=1))
    with pytest.raises(SourceError, match=r"controller \(slurmctld\) is down"):
        source(tmp_path, slurm).look()


def test_a_job_that_has_ended_already_is_ended(tmp_path: Path) -> None:
    slurm = Slurm(scancel=said(err="scancel: error: Kill job error on job id 12: Invalid job id specified", code=1))
    source(tmp_path, slurm).end("slurm-12")
    assert slurm.asked[0][0] == ["scancel", "--", "12"]
    slurm.answers["scancel"] = said(err="Access/permission denied", code=1)
    with pytest.raises(SourceError, match="ask the administrators"):
        source(tmp_path, slurm).end("slurm-12")


def test_a_program_that_hangs_is_ended_with_its_children() -> None:
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import signal; signal.pause()'])"
    with pytest.raises(SourceError, match=r"has not answered for 0.5 s and was ended"):
        machines.ask([sys.executable, "-c", child], timeout_s=0.5)


def test_a_program_that_is_missing_is_named() -> None:
    with pytest.raises(SourceError, match="no-such-sbatch cannot be run"):
        machines.ask(["no-such-sbatch"])


def test_what_a_program_prints_is_returned() -> None:
    answer = machines.ask(["cat"], given="a\nb")
    assert (answer.code, answer.out, answer.err) == (0, "a\nb", "")

"""The command lines of Slurm, its script, and what its programs print."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from nbaccel.machines.sources import machines, slurm_source
from tests.machines.sources.types import SETTINGS, slurm_type


def script(**options: object) -> str:
    given = slurm_type("--partition=gpu", **options)
    told = machines.told_to_node(SETTINGS, "gpu", given, "slurm-$SLURM_JOB_ID", token_file=SETTINGS.token_file)
    return slurm_source.job_script("nbaccel-c1-gpu", "/logs/%j.log", given, told)


def test_the_type_is_asked_for_and_the_users_own_directives_go_before_it() -> None:
    assert slurm_source.directives(slurm_type(num_cpus=4, num_gpus=2, memory=3 << 30)) == [
        "--nodes=1", "--cpus-per-task=4", "--gres=gpu:2", "--mem=3072M",
    ]  # fmt: skip
    own = ("--gpus-per-node=a100:1", "-c8", "--mem-per-cpu=2G")
    assert slurm_source.directives(slurm_type(*own, num_cpus=4, num_gpus=2, memory=3 << 30)) == ["--nodes=1", *own]


def test_the_script_is_one_command_and_has_no_token(tmp_path: Path) -> None:
    text = script(resources={"a'b $(touch x)": 1})
    lines = text.splitlines()
    assert lines[0] == "#!/bin/bash"
    assert "#SBATCH --partition=gpu" in lines and "#SBATCH --output=/logs/%j.log" in lines
    checked = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    words = shlex.split(text[text.index("exec srun") :])
    assert words[:3] == ["exec", "srun", "--ntasks=1"]
    assert '"address": "10.0.0.5:6379"' in words[-1] and "a'b $(touch x)" in words[-1]
    assert '"token":' not in text and "/home/me/.ray/auth_token" in words[-1]


def test_a_python_of_the_home_there_is_left_to_the_shell_there() -> None:
    options = slurm_type()
    options["slurm"]["python"] = "~/my venv/bin/python"
    text = slurm_source.job_script("n", "l", options, {})
    assert "exec srun --ntasks=1 ~/'my venv/bin/python' -u -c" in text


def test_jobs_are_read_and_other_lines_are_left_out() -> None:
    printed = (
        "12|PENDING|nbaccel-c1-gpu|2026-01-02T03:04:05||Priority\n"
        "a greeting of the site\n"
        "13|RUNNING|nbaccel-c1-gpu|N/A|n1|None\n"
        "14|CANCELLED|nbaccel-c1-gpu|N/A||(a | b)\n"
    )
    waiting, running, cancelled = slurm_source.read_jobs(printed)
    assert (waiting.id, waiting.reason, waiting.starts_at) == ("12", "Priority", "2026-01-02T03:04:05")
    assert running.nodes == "n1" and running.starts_at == "" and not running.has_ended
    assert cancelled.has_ended and cancelled.reason == "(a | b)"


@pytest.mark.parametrize(
    ("printed", "job"), [("12\n", "12"), ("welcome 3\n12;cluster\n", "12"), ("", None), ("Submitted 12\n", None)]
)
def test_the_id_of_a_job_is_found_among_greetings(printed: str, job: str | None) -> None:
    assert slurm_source.read_job_id(printed) == job


def test_the_largest_node_of_each_partition_is_found() -> None:
    printed = "gpu*|gpu:1\ngpu*|gpu:a100:4(S:0-1),shard:8\ncpu|(null)\n"
    assert slurm_source.most_gpus(printed) == {"gpu": 4, "cpu": 0}


def test_the_name_of_a_job_has_no_character_that_a_list_of_names_could_not_have() -> None:
    assert slurm_source.job_name("c1", "a_b.c") == "nbaccel-c1-a_b.c"
    assert re.fullmatch(r"nbaccel-c1-a_b_c_d\.[0-9a-f]{8}", slurm_source.job_name("c1", "a,b c|d"))


def test_types_whose_names_differ_in_such_characters_only_have_jobs_of_their_own() -> None:
    names = ["a b", "a,b", "a_b", "a|b", "ä"]
    assert len({slurm_source.job_name("c1", name) for name in names}) == len(names)

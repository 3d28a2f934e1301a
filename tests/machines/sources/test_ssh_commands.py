"""ssh's command line, its refusals in words, and which machine is taken; nothing that a file says becomes a command."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from nbaccel.machines.sources import ssh_source
from nbaccel.machines.sources.machines import MachineState, SourceError, node_options
from nbaccel.machines.sources.ssh_source import SshSource
from tests.machines.sources.types import SETTINGS, slurm_type, ssh_type
from tests.rig import wait_until


def test_ssh_asks_nothing_and_takes_the_host_for_a_host() -> None:
    options = ssh_type("gpu1")
    options["ssh"].update(python="/opt/a b/$(id)", config="/c")
    line = ssh_source.ssh_line("gpu1", options)
    assert line[:3] == ["ssh", "-F", "/c"] and "BatchMode=yes" in line
    assert line[-3:-1] == ["--", "gpu1"]
    words = shlex.split(line[-1])
    assert words[:4] == ["exec", "/opt/a b/$(id)", "-u", "-c"] and len(words) == 5
    assert not any("StrictHostKeyChecking" in word for word in line)  # it is the user's to say


@pytest.mark.parametrize(
    ("code", "said", "words"),
    [
        (255, "me@gpu1: Permission denied (publickey).", "ssh -o BatchMode=yes gpu1 true"),
        (255, "Host key verification failed.", "Type once, on the head's machine: ssh gpu1 true"),
        (255, "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!", "ssh-keygen -R gpu1"),
        (255, "ssh: Could not resolve hostname gpu1: Name or service not known", "No machine is called gpu1"),
        (255, "ssh: connect to host gpu1 port 22: Connection refused", "gpu1 cannot be reached"),
        (255, "ssh: connect to host gpu1 port 22: Connection timed out", "gpu1 cannot be reached"),
        (127, "sh: 1: exec: /nope: not found", "There is no /nope on gpu1. Say where its Python is"),
        (1, "Traceback", "has ended with code 1: Traceback"),
    ],
)
def test_a_refusal_says_what_to_do(code: int, said: str, words: str) -> None:
    assert words in str(ssh_source.error_of("gpu1", code, said, "/nope"))


def fake_ssh(folder: Path, script: str) -> str:
    path = folder / "ssh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


def source(ssh: str, *hosts: str) -> SshSource:
    return SshSource(SETTINGS, {"desk": ssh_type(*hosts)}, "ab" * 32, ssh)


def test_a_machine_is_one_node_and_ends_with_its_connection(tmp_path: Path) -> None:
    ssh = fake_ssh(tmp_path, """echo '@nbaccel {"stage": "starting"}'; exec cat >/dev/null""")
    machines = source(ssh, "gpu1", "gpu2")
    try:
        first, second = machines.begin("desk"), machines.begin("desk")
        assert {first.place, second.place} == {"gpu1", "gpu2"}
        with pytest.raises(SourceError, match="All machines of the type desk are nodes already"):
            machines.begin("desk")
        wait_until(lambda: [one.said for one in machines.look()] == ["Ray starts on gpu1", "Ray starts on gpu2"])
        machines.end(first.id)
        wait_until(lambda: [one.id for one in machines.look()] == [second.id])

        def again() -> bool:
            machines.look()
            try:
                return machines.begin("desk").place == "gpu1"
            except SourceError:
                return False  # it is leaving still

        wait_until(again, "the machine to be free")
    finally:
        machines.close()
    assert machines.look() == []


def test_a_machine_that_refuses_says_why_and_the_next_one_is_taken(tmp_path: Path) -> None:
    ssh = fake_ssh(tmp_path, "echo 'Permission denied (publickey).' >&2; exit 255")
    machines = source(ssh, "gpu1", "gpu2")
    machines.begin("desk")
    (ended,) = wait_until(lambda: [one for one in machines.look() if one.state is MachineState.ENDED])
    assert "gpu1 refuses the login" in ended.said
    assert machines.begin("desk").place == "gpu2"
    machines.close()


def test_an_ssh_that_is_missing_is_named() -> None:
    with pytest.raises(SourceError, match="ssh cannot be run on this machine"):
        source("/nope/ssh", "gpu1").begin("desk")


def test_the_token_is_in_no_command_line(tmp_path: Path) -> None:
    ssh = fake_ssh(tmp_path, f'printf "%s\\n" "$@" > {tmp_path}/line; exec cat > {tmp_path}/input')
    machines = source(ssh, "gpu1")
    machines.begin("desk")
    machines.close()
    assert "ab" * 32 not in (tmp_path / "line").read_text()
    assert "ab" * 32 in (tmp_path / "input").read_text()


def test_a_node_offers_what_its_type_says() -> None:
    options = slurm_type(num_gpus=2, memory=1 << 30, accelerator_type="A100", labels={"zone": "a"})
    line = node_options("h:1", options)
    assert {"--address=h:1", "--num-cpus=1", "--num-gpus=2", "--memory=1073741824"} <= set(line)
    assert '--resources={"accelerator_type:A100": 1}' in line
    assert "--labels=ray.io/accelerator-type=A100,zone=a" in line
    assert sys.executable not in line

"""The program that is sent to a machine: what it refuses, and that its node ends when it is asked or its input ends."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbaccel.machines.sources import machines
from tests.machines.sources.types import SETTINGS

# Stands for Ray: `ray start --block` with a child that does not end with it.
RAY = """
import json, os, signal, subprocess, sys
if os.environ.get("TRIES"):
    with open(os.environ["TRIES"], "a") as file:
        file.write("x")
    sys.exit("The current node timed out during startup.")
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"])
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
shown = {name: os.environ.get(name) for name in ("RAY_CLOUD_INSTANCE_ID", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")}
print(json.dumps({"child": child.pid, "line": sys.argv[1:], **shown}))
print("Ray runtime started.", flush=True)
signal.pause()
"""


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH with a Ray of version 1.2.3 that is no Ray."""
    (tmp_path / "ray" / "scripts").mkdir(parents=True)
    (tmp_path / "ray" / "__init__.py").touch()
    (tmp_path / "ray" / "scripts" / "__init__.py").touch()
    (tmp_path / "ray" / "scripts" / "scripts.py").write_text(RAY)
    (tmp_path / "ray-1.2.3.dist-info").mkdir()
    (tmp_path / "ray-1.2.3.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: ray\nVersion: 1.2.3\n")
    return tmp_path


@pytest.fixture
def head() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def wanted(address: str, **other: Any) -> dict[str, Any]:
    return {
        "address": address,
        "options": ["--num-cpus=1"],
        "variables": {"RAY_CLOUD_INSTANCE_ID": "slurm-$SLURM_JOB_ID"},
        "ray": "1.2.3",
        "python": ".".join(map(str, sys.version_info[:3])),
        "python_parts": 3,
        **other,
    }


def begun(there: Path, settings: dict[str, Any], **environ: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        ["sh", "-c", "exec " + machines.far_command(None, machines.FROM_INPUT)],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(there),
            "TMPDIR": str(there),
            "SLURM_JOB_ID": "7",
            **environ,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(machines.through_input(json.dumps(settings)))
    process.stdin.flush()
    return process


def told(there: Path, settings: dict[str, Any]) -> str:
    """What the head says of a machine that refuses."""
    with begun(there, settings) as process:
        out, _ = process.communicate(timeout=90)
    assert process.returncode == 3, out
    return machines.stage_in_words(machines.last_said(out.decode().splitlines()), SETTINGS, "gpu1")


def test_a_machine_that_cannot_join_says_why(there: Path, head: str) -> None:
    assert "gpu1 has Ray 1.2.3, the head 2.60.0" in told(there, wanted(head, ray="2.60.0"))
    assert "Ray needs the same" in told(there, wanted(head, python="3.1.4"))
    missing = there / "token"
    assert f"The cluster's token is not on gpu1 ({missing}: " in told(there, wanted(head, token_file=str(missing)))
    missing.write_text("ab")
    missing.chmod(0o644)
    assert f"chmod 600 {missing}" in told(there, wanted(head, token_file=str(missing)))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{taken.getsockname()[1]}"
        assert f"gpu1 does not reach the head at {dead} (Connection refused)" in told(there, wanted(dead))


def test_a_machine_without_ray_is_told_what_to_install(there: Path, head: str) -> None:
    (there / "ray-1.2.3.dist-info" / "METADATA").unlink()
    (there / "ray-1.2.3.dist-info").rmdir()
    environ = {"PATH": os.environ["PATH"], "TMPDIR": str(there)}
    line = [sys.executable, "-I", "-S", "-u", "-c", machines.FROM_ARGUMENTS, machines.far_program()]
    done = subprocess.run([*line, json.dumps(wanted(head))], env=environ, capture_output=True, text=True, timeout=90)
    said = machines.stage_in_words(machines.last_said(done.stdout.splitlines()), SETTINGS, "gpu1")
    assert said.startswith(f"{sys.executable} on gpu1 has no Ray.") and "pip install ray==2.60.0" in said


@pytest.mark.parametrize("way", ["input", "signal"])
def test_a_node_ends_with_all_its_processes(there: Path, head: str, way: str) -> None:
    process = begun(there, wanted(head, token="ab" * 32, lifeline=True))
    with process:
        assert process.stdout is not None and process.stdin is not None
        lines = []
        for line in process.stdout:
            lines.append(line.decode())
            if '"started"' in lines[-1]:
                break
        (shown,) = [json.loads(line) for line in lines if line.startswith("{")]
        assert shown["RAY_CLOUD_INSTANCE_ID"] == "slurm-7" and shown["RAY_AUTH_TOKEN"] == "ab" * 32
        assert shown["line"] == ["start", "--block", "--num-cpus=1"]
        child = os.pidfd_open(shown["child"])
        if way == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdin.close()
        last = process.stdout.read().decode()
        assert process.wait(90) == 0
    assert '"asked": true' in last
    assert select.select([child], [], [], 90)[0], "the child of the node still runs"
    os.close(child)


def test_a_ray_that_is_too_slow_is_tried_three_times(there: Path, head: str) -> None:
    with begun(there, wanted(head), TRIES=str(there / "tries")) as process:
        out, _ = process.communicate(timeout=90)
    assert process.returncode == 1
    assert (there / "tries").read_text() == "xxx"
    said = machines.last_said(out.decode().splitlines())
    assert "timed out during startup" in machines.stage_in_words(said, SETTINGS, "gpu1")

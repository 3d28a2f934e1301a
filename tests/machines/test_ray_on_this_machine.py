"""A real Ray cluster of two nodes on this machine, as the commands start it, and a Ray of somebody else beside it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray")

from tests.census import PATIENCE_S, Place, carriers, end_carriers
from tests.rig import wait_until

pytestmark = [pytest.mark.real, pytest.mark.ray, pytest.mark.timeout(600)]

SMALL = ["--num-cpus=1", "--object-store-memory=80000000"]
PROGRAM = """
import os, sys, tempfile, time
import nbaccel as ray

ray.init(address=sys.argv[1], token_file=sys.argv[2])

@ray.remote(num_gpus=1)
def devices(folder, number):
    open(os.path.join(folder, str(number)), "w").close()
    while len(os.listdir(folder)) < 2:  # one node alone would not run both
        time.sleep(0.05)
    return ray.get_runtime_context().get_node_id()

folder = tempfile.mkdtemp()
print("ran on", len(set(ray.get([devices.remote(folder, number) for number in range(2)]))))
"""


@pytest.fixture
def place() -> Iterator[Place]:
    """Without variables of Ray's, and with a home of its own."""
    place = Place()
    yield place
    end_carriers(place.token)
    wait_until(lambda: not carriers(place.token), "the end of all processes")


def environ_of(place: Place) -> dict[str, str]:
    kept = {name: value for name, value in place.environ.items() if not name.startswith("RAY_")}
    return {**kept, "HOME": str(place.root), "RAY_TMPDIR": str(place.root / "tmp")}


def nbaccel(place: Place, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "nbaccel", *arguments],
        env=environ_of(place),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_head_and_a_node_are_started_used_shown_and_ended_by_their_records(place: Place) -> None:
    head = nbaccel(place, "start", "--head", "--engine=ray", "--port=0", "--num-gpus=1", *SMALL)
    (address,) = re.findall(r"Ray head started at (\S+),", head)
    (line,) = re.findall(r"nbaccel (start --address=\S+ --token-file \S+)", head)
    token = place.root / ".ray" / "auth_token"
    command = [sys.executable, "-m", "nbaccel", *line.replace("~", str(place.root)).split(), "--num-gpus=1", *SMALL]
    with subprocess.Popen(command, env=environ_of(place), stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout is not None
        said = [node.stdout.readline() for _ in range(6)]
        assert "The cluster now has 2 nodes, 2 CPUs, 2 GPUs." in said[-1], said
        judged = nbaccel(place, "doctor", "--address", address, "--token-file", str(token))
        assert "Ports of the nodes: 4 of 4 are open to this machine." in judged
        assert "clock and this machine's agree" in judged, judged
        program = [sys.executable, "-c", PROGRAM, address, str(token)]
        done = subprocess.run(program, env=environ_of(place), capture_output=True, text=True, timeout=200)
        assert "ran on 2" in done.stdout, done.stdout + done.stderr
        node.send_signal(signal.SIGTERM)
        assert node.wait(PATIENCE_S) == 0
    shown = nbaccel(place, "status")
    assert f"The Ray head at {address}, pid" in shown and "The Ray node" not in shown
    assert f"Ended the Ray head at {address}" in nbaccel(place, "stop")
    assert carriers(place.token) == {}
    assert list((Path(place.environ["JUPYTER_RUNTIME_DIR"]) / "nbaccel-ray").iterdir()) == []

"""A Ray cluster grows and shrinks by jobs of a real Slurm, and by machines that a real sshd serves."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray")

from tests.census import TOKEN, Place, carriers, end_carriers
from tests.machines.sources import outside
from tests.rig import wait_until

pytestmark = [pytest.mark.real, pytest.mark.ray, pytest.mark.timeout(600)]

# Asks for nodes, runs a task on each, sees what the third one waits for, and lets all go.
PROGRAM = """
import json, os, sys, tempfile, time
import ray
from ray.autoscaler.sdk import request_resources
from nbaccel.machines.sources import growing_machines as arrivals
from nbaccel.ray_engine.rays import import_shipped

import_shipped()
from nbaccel_in_ray import growth

address, resource, asked, come = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
ray.init(address, log_to_driver=False)
client = ray._private.worker.global_worker.gcs_client

def told():
    return json.loads(client.internal_kv_get(arrivals.KEY, arrivals.NAMESPACE) or b"{}")

def wait_for(condition, what):
    end = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < end, (what, told(), ray.nodes())
        time.sleep(0.1)

def here():
    return sum(node["Resources"].get(resource, 0) for node in ray.nodes() if node["Alive"])

request_resources(bundles=[{resource: 1}] * asked)
wait_for(lambda: here() == come, "the nodes")
wait_for(lambda: len(told()["arrivals"]) == asked - come, "the rows")

@ray.remote(num_cpus=0, resources={resource: 1} if resource != "GPU" else {}, num_gpus=int(resource == "GPU"))
def where(folder, number, several):
    open(os.path.join(folder, str(number)), "w").close()
    while len(os.listdir(folder)) < several:  # one node alone would not run all
        time.sleep(0.05)
    return ray.get_runtime_context().get_node_id(), os.environ.get("SLURMD_NODENAME")

folder = tempfile.mkdtemp()
tasks = ray.get([where.remote(folder, number, come) for number in range(come)], timeout=120)
seen = [(each["source"], each["why"]) for each in growth.growth()["arriving"]]
print(json.dumps({"tasks": tasks, "told": told(), "seen": seen}))
request_resources(bundles=[])
wait_for(lambda: here() == 0 and not told()["arrivals"], "the end of the nodes")
print(json.dumps(told()))
"""


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    end_carriers(place.token)
    wait_until(lambda: not carriers(place.token), "the end of all processes")


def environ_of(place: Place, **further: str) -> dict[str, str]:
    kept = {name: value for name, value in place.environ.items() if not name.startswith("RAY_")}
    own = {"HOME": str(place.root), "RAY_TMPDIR": str(place.root / "tmp"), "AUTOSCALER_UPDATE_INTERVAL_S": "1"}
    return {**kept, **own, **further}


def run(environ: dict[str, str], *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], env=environ, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    return done.stdout


def grown(environ: dict[str, str], machines: Path, *asked: str) -> list[str]:
    """What the program has printed on a cluster that grows by these machines."""
    small = ["--num-cpus=1", "--num-gpus=0", "--object-store-memory=80000000"]
    head = run(
        environ, "-m", "nbaccel", "start", "--head", "--engine=ray", "--port=0", f"--node-types={machines}", *small
    )
    (address,) = re.findall(r"Ray head started at (\S+),", head)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": f"{environ['HOME']}/.ray/auth_token"}
    try:
        return run({**environ, **token}, "-c", PROGRAM, address, *asked).splitlines()
    finally:
        assert "Ended the Ray head" in run(environ, "-m", "nbaccel", "stop")


@pytest.mark.skipif(bool(outside.missing(outside.SLURM_PROGRAMS)), reason=outside.missing(outside.SLURM_PROGRAMS))
def test_jobs_of_slurm_become_nodes_and_end_when_nothing_needs_them(place: Place) -> None:
    machines = place.root / "machines.toml"
    machines.write_text(
        '[types.gpu]\nfrom = "slurm"\nnum_gpus = 1\nmax = 3\nidle_s = 2\n'
        '[types.gpu.slurm]\ndirectives = ["--partition=gpu", "--time=00:10:00"]\n'
    )
    with outside.slurm(place.root / "slurm", environ_of(place)) as environ:
        first, last = grown(environ, machines, "GPU", "3", "2")
        assert outside.jobs(environ) == []
    assert '"n1"' in first and '"n2"' in first
    assert "waits in the queue" in first and "(Resources)" in first
    assert '["slurm", "Slurm: job ' in first  # as the views of a driver tell it
    assert '"arrivals": []' in last and '"failures": 0' in last


@pytest.mark.skipif(bool(outside.missing(outside.SSH_PROGRAMS)), reason=outside.missing(outside.SSH_PROGRAMS))
def test_machines_that_ssh_reaches_become_nodes_and_are_left(place: Place) -> None:
    machines = place.root / "machines.toml"
    with outside.sshd(place.root / "ssh", f"{TOKEN}={place.token}") as config:
        machines.write_text(
            '[types.desk]\nfrom = "ssh"\nresources = {desk = 1}\nidle_s = 2\n'
            f'[types.desk.ssh]\nhosts = ["gpu1", "gpu2"]\nconfig = "{config}"\n'
        )
        first, last = grown(environ_of(place), machines, "desk", "2", "2")
    assert '"here": 2' in first
    assert '"arrivals": []' in last and '"failures": 0' in last

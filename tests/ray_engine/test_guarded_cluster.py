"""A real Ray cluster that wants a token, and whose autoscaler brings a node with a GPU where one is asked for.

Ray's own fake provider of nodes starts them on this machine.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray")

from nbaccel.light_imports import FOLDER
from tests.census import carriers, end_carriers
from tests.ports import free_port

pytestmark = [pytest.mark.ray, pytest.mark.timeout(700)]

ROOT = Path(__file__).resolve().parent.parent.parent
START_PATIENCE_S = 90
TOKEN, OTHER = "ab" * 32, "cd" * 32
HEAD_TYPE = "ray.head.default"  # what Ray's fake provider calls the first node
HEAD_ID = "f" * 51 + "00000"
TYPES = {
    HEAD_TYPE: {"resources": {"CPU": 1}, "node_config": {}, "max_workers": 0},
    "gpu": {"resources": {"CPU": 1, "GPU": 1, "object_store_memory": 80_000_000}, "node_config": {}, "max_workers": 1},
}
# Ray asks for all of these to be there.
UNUSED: dict[str, object] = {name: {} for name in ("auth", "docker", "file_mounts")} | {
    name: []
    for name in (
        "initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands",
        "head_start_ray_commands", "worker_start_ray_commands", "cluster_synced_files", "rsync_exclude", "rsync_filter",
    )
}  # fmt: skip
OF_A_SECOND_AUTOSCALER = {
    "RAY_enable_autoscaler_v2": "1",
    "RAY_CLOUD_INSTANCE_ID": HEAD_ID,
    "RAY_OVERRIDE_NODE_ID_FOR_TESTING": HEAD_ID,
    "RAY_NODE_TYPE_NAME": HEAD_TYPE,
    "RAY_FAKE_CLUSTER": "1",
    "AUTOSCALER_UPDATE_INTERVAL_S": "1",
}
JOIN = """
import os, sys
import nbaccel as ray

address = sys.argv[1]
"""
WITHOUT_AND_WITH = (
    JOIN
    + """
try:
    ray.init(engine="ray", address=address)
except ConnectionError as error:
    print("refused:", str(error).replace("\\n", " "))
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": sys.argv[2]}
ray.init(engine="ray", address=address, infeasible="raise")
print("joined")
probed = ray.probe(num_gpus=1)
print("before:", probed.verdict.name, probed.sentence)

@ray.remote(num_gpus=1, fallback="cpu", fallback_after_s=600)
def devices():
    return os.environ["CUDA_VISIBLE_DEVICES"]

waiting = devices.remote()
print("ran with GPU", ray.get(waiting))
print("after:", ray.probe(num_gpus=1, timeout_s=60).verdict.name)
"""
)

REQUESTS = (
    JOIN
    + """
from ray._raylet import GcsClient
from ray.core.generated.autoscaler_pb2 import GetClusterStatusReply

ray.init(engine="ray", address=address)

def request(bundles):
    ray.autoscaler.sdk.request_resources(bundles=bundles)

def asked():
    reply = GetClusterStatusReply()
    reply.ParseFromString(GcsClient(address=address).get_cluster_status(timeout_s=60))
    constraints = reply.cluster_resource_state.cluster_resource_constraints
    return sum(each.count for constraint in constraints for each in constraint.resource_requests)

"""
)


def _scaling(folder: Path, port: int) -> Path:
    """The autoscaler's file."""
    provider = {
        "type": "external",
        "module": "ray.autoscaler._private.fake_multi_node.node_provider.FakeMultiNodeProvider",
        "gcs_address": f"127.0.0.1:{port}",
        "head_node_id": HEAD_ID,
        "launch_multiple": True,
        "use_node_id_as_ip": True,
        "disable_node_updaters": True,
        "disable_launch_config_check": True,
    }
    limits = {
        "max_workers": 1,
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": 5,
        "file_mounts_sync_continuously": False,
    }
    names = {"cluster_name": "fake", "head_node_type": HEAD_TYPE, "available_node_types": TYPES}
    path = folder / "scaling.json"
    path.write_text(json.dumps({**UNUSED, **limits, **names, "provider": provider}))
    return path


class Head:
    """The cluster's first node, and those that it starts."""

    def __init__(self, folder: Path) -> None:
        self._mark, self._folder = f"guarded-{os.getpid()}-{time.monotonic_ns()}", folder
        self.port = free_port()
        # Short: Ray's sockets lie in it, and a socket's path has at most 107 bytes.
        self._sockets = tempfile.TemporaryDirectory(prefix="nb-", dir="/tmp", ignore_cleanup_errors=True)
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--port={self.port}"]
        command += ["--node-ip-address=127.0.0.1", f"--ray-client-server-port={free_port()}", "--num-cpus=1"]
        command += ["--num-gpus=0", "--object-store-memory=80000000", "--include-dashboard=false"]
        command += ["--dashboard-agent-listen-port=0", "--disable-usage-stats", f"--temp-dir={self._sockets.name}"]
        command += [f"--autoscaling-config={_scaling(folder, self.port)}"]
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, "PYTHONPATH": str(FOLDER)}
        with open(folder / "head.log", "w") as log:
            self._process = subprocess.Popen(
                command,
                env={**self.environ, **OF_A_SECOND_AUTOSCALER, **token},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def environ(self) -> dict[str, str]:
        """Without any token, also none in the home directory."""
        others = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        own = {"HOME": str(self._folder), "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
        return {**others, **own, "NBACCEL_TEST_MARK": self._mark}

    def has_started(self) -> bool:
        deadline = time.monotonic() + START_PATIENCE_S
        while "Ray runtime started" not in (self._folder / "head.log").read_text():
            if self._process.poll() is not None or time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def run(self, program: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, f"127.0.0.1:{self.port}", *arguments]
        return subprocess.run(
            command, env={**self.environ, **environ}, capture_output=True, text=True, timeout=200, check=False
        )

    def end(self) -> None:
        """End all of its processes, wherever they have gone."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
        while carriers(self._mark):
            end_carriers(self._mark)
            time.sleep(0.05)
        self._process.wait()
        self._sockets.cleanup()


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    for _ in range(3):  # Ray's own start may be too slow on a busy machine
        head = Head(tmp_path_factory.mktemp("head"))
        try:
            if head.has_started():
                yield head
                return
        finally:
            head.end()
    pytest.skip("Ray's processes did not start in time on this machine")


def test_another_token_is_refused_with_the_cause_and_the_remedy(head: Head) -> None:
    done = head.run(JOIN + "ray.init(engine='ray', address=address)", RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=OTHER)
    assert "ConnectionError: address='127.0.0.1:" in done.stderr, done.stderr
    told = done.stderr.rpartition("ConnectionError: ")[2]
    assert "RAY_AUTH_TOKEN" in told and "ray start" not in told


def test_who_had_no_token_joins_once_it_is_set_and_is_given_a_node_that_is_launched(head: Head) -> None:
    done = head.run(WITHOUT_AND_WITH, TOKEN)
    assert done.returncode == 0, done.stdout + done.stderr
    said = ("refused: ", "joined", "before: ", "ran ", "after: ")  # Ray's autoscaler writes there as well
    refused, joined, before, ran, after = [line for line in done.stdout.splitlines() if line.startswith(said)]
    assert refused.startswith("refused: address=") and "RAY_AUTH_MODE=token" in refused and "ray start" not in refused
    assert joined == "joined"
    assert before.startswith("before: ") and "NEVER" not in before and "autoscaler" in before
    assert ran == "ran with GPU 0"
    assert after == "after: NOW"


def test_a_request_for_resources_outlives_its_driver_until_another_withdraws_it(head: Head) -> None:
    asks = head.run(
        REQUESTS + "request([{'GPU': 1}])\nprint('asked', asked())", RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=TOKEN
    )
    assert "asked 1" in asks.stdout, asks.stdout + asks.stderr
    withdraws = head.run(
        REQUESTS + "print('found', asked())\nrequest([])\nprint('left', asked())",
        RAY_AUTH_MODE="token",
        RAY_AUTH_TOKEN=TOKEN,
    )
    assert "found 1" in withdraws.stdout and "left 0" in withdraws.stdout, withdraws.stdout + withdraws.stderr

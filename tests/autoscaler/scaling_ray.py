"""A head of Ray's whose autoscaler brings two nodes with a GPU each: Ray's own fake provider starts them here."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from nbaccel.machines import node_records, ray_head, ray_processes
from nbaccel.machines.node_records import NodeRecord
from nbaccel.machines.ray_head import HeadPlan
from tests.ports import free_port

ROOT = Path(__file__).resolve().parent.parent.parent
IDLE_S = 6.0
HEAD_TYPE = "ray.head.default"  # what Ray's fake provider calls the first node
HEAD_ID = "f" * 51 + "00000"
CLIENT_PORT = "--ray-client-server-port="
USUAL_CLIENT_PORT = "10001"
FAKE = "ray.autoscaler._private.fake_multi_node.node_provider.FakeMultiNodeProvider"


def node_type(most: int, least: int = 0, **resources: float) -> dict[str, Any]:
    """A type in the file for Ray's autoscaler."""
    memory = {"object_store_memory": 80_000_000}
    return {"resources": {"CPU": 1, **resources, **memory}, "node_config": {}} | {
        "min_workers": least,
        "max_workers": most,
    }


TWO_GPUS = {"gpu": node_type(2, GPU=1)}
# Ray asks for all of these to be there.
UNUSED: dict[str, object] = {name: {} for name in ("auth", "docker", "file_mounts")} | {
    name: []
    for name in (
        "initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands",
        "head_start_ray_commands", "worker_start_ray_commands", "cluster_synced_files", "rsync_exclude", "rsync_filter",
    )
}  # fmt: skip
OF_THE_FAKE_PROVIDER = {
    "RAY_FAKE_CLUSTER": "1",
    "RAY_OVERRIDE_NODE_ID_FOR_TESTING": HEAD_ID,
    "AUTOSCALER_UPDATE_INTERVAL_S": "1",
}


class ScalingRay:
    """The head, and programs that join it."""

    def __init__(self, folder: Path, environ: dict[str, str], record: NodeRecord) -> None:
        self.folder, self.environ, self.record = folder, environ, record

    def start(self, code: str, name: str = "program.py") -> subprocess.Popen[str]:
        """Start a program whose `init()` joins the cluster; its lines can be read, and it reads lines."""
        script = self.folder / name
        script.write_text(code)
        return subprocess.Popen(
            [sys.executable, "-u", str(script)],
            env={**self.environ, **self._joining},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, code: str, *, through_client: bool = False) -> str:
        """What a program printed, errors included; it has ended well."""
        client = {"NBACCEL_ADDRESS": f"ray://127.0.0.1:{self._client_port}"} if through_client else {}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**self.environ, **self._joining, **client},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    @property
    def _client_port(self) -> int:
        """Where the head's server for Ray Client listens: at the usual port unless its command says another one."""
        words = Path(f"/proc/{self.record.pid}/cmdline").read_text().split("\0")
        return int(next((word.partition("=")[2] for word in words if CLIENT_PORT in word), USUAL_CLIENT_PORT))

    @property
    def _joining(self) -> dict[str, str]:
        shown = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": self.record.token_file}
        return {"NBACCEL_ADDRESS": self.record.address, **shown}


def _scaling(folder: Path, port: int, types: dict[str, Any], module: str) -> Path:
    provider = {
        "type": "external",
        "module": module,
        "folder": str(folder),
        "gcs_address": f"127.0.0.1:{port}",
        "head_node_id": HEAD_ID,
        "launch_multiple": True,
        "use_node_id_as_ip": True,
        "disable_node_updaters": True,
        "disable_launch_config_check": True,
    }
    limits = {
        "max_workers": sum(each["max_workers"] for each in types.values()),
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": IDLE_S / 60,
        "file_mounts_sync_continuously": False,
    }
    head = {"resources": {"CPU": 1}, "node_config": {}, "max_workers": 0}
    names = {"cluster_name": "fake", "head_node_type": HEAD_TYPE, "available_node_types": {HEAD_TYPE: head, **types}}
    path = folder / "scaling.json"
    path.write_text(json.dumps({**UNUSED, **limits, **names, "provider": provider}))
    return path


# It answers each line, an expression, with its value.
_ANSWERS = """
import sys
import nbaccel
from nbaccel import autoscaler
from nbaccel.views import node_tables, tables

nbaccel.init(log_to_driver=False)

def here():
    return [row for row in autoscaler.status().nodes if row.node_type == "gpu"]

def requests():
    return sorted((row.kind, sorted(row.resources.items()), row.by) for row in autoscaler.status().requests)

print("ready")
for line in sys.stdin:
    print("=", repr(eval(line)))
"""


class Watcher:
    """A program that watches the cluster for the tests of a file, as one notebook beside others does."""

    def __init__(self, ray: ScalingRay) -> None:
        self._program = ray.start(_ANSWERS, "watcher.py")
        assert self._program.stdout is not None
        while line := self._program.stdout.readline():
            if line == "ready\n":
                return
        raise AssertionError("the watcher could not join")

    def ask(self, expression: str) -> Any:
        assert self._program.stdin is not None and self._program.stdout is not None
        self._program.stdin.write(f"{expression}\n")
        self._program.stdin.flush()
        while line := self._program.stdout.readline():
            if line.startswith("= "):
                return ast.literal_eval(line[2:])
        raise AssertionError(f"the watcher ended at {expression}")

    def end(self) -> None:
        self._program.kill()
        self._program.communicate()


@contextmanager
def scaling_ray(types: dict[str, Any] = TWO_GPUS, module: str = FAKE) -> Iterator[ScalingRay]:
    """A cluster that grows from nothing to nodes of these types; all of its processes end with the block."""
    # Short: Ray's sockets lie in it, and a socket's path has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="nb-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        own = {"HOME": name, "RAY_TMPDIR": name, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(ROOT)}
        environ = {**kept, **own, "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
        port = free_port("")
        plan = HeadPlan(
            port=port,
            offered={"num_cpus": 1, "num_gpus": 0, "object_store_memory": 80_000_000},
            node_type=HEAD_TYPE,
            autoscaling_config=_scaling(folder, port, types, module),
            instance_id=HEAD_ID,
            variables=OF_THE_FAKE_PROVIDER,
        )
        with mock.patch.dict(os.environ, environ, clear=True):
            record = ray_head.start_head(plan)
            try:
                yield ScalingRay(folder, environ, record)
            finally:
                os.environ.update(environ)
                node_records.end(record, force=True)
                ray_processes.forget_ended()

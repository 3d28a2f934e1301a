"""Processes of a rehearsal: started with a log, ended by their pid, and gone when this process is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbaccel import proc
from nbaccel.light_imports import FOLDER
from nbaccel.machines import with_parent
from nbaccel.machines.kuberay.manifest import PodGroup, fields_of
from nbaccel.machines.kuberay.ray_reading import autoscaler_reading
from nbaccel.machines.kuberay.rehearsal.played_cluster import HEAD_GROUP, Certificate, PlayedCluster, Pod

_STARTED = "Ray runtime started"
_LAST_LINES = 8
_LOOK_EVERY_S = 0.05
_ROUNDS = 20


@dataclass(slots=True)
class LoggedProcess:
    """A process with its log. Only the main thread starts one: it would end with another thread."""

    mark: str
    log: Path
    _process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, line: Sequence[str], environ: dict[str, str], log: Path) -> LoggedProcess:
        command = [sys.executable, "-I", "-S", with_parent.__file__, str(os.getpid()), *line]
        with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "wb") as output:
            process = subprocess.Popen(
                command,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C in the terminal is for the rehearsal, which ends them in order
            )
        return cls(environ[MARK], log, process)

    @property
    def has_started(self) -> bool:
        """Whether Ray says that its processes run."""
        return _STARTED in self.log.read_text(errors="replace")

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def last_words(self) -> str:
        """The end of the log."""
        lines = [line.rstrip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return "\n".join(lines[-_LAST_LINES:]) or "(nothing)"

    def ask_to_end(self) -> None:
        """SIGTERM: a node of Ray's leaves its cluster, and ends its own processes."""
        if not self.has_ended:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL to the process and to everything that it has started."""
        if not self.has_ended:
            self._process.kill()
        self._process.wait()
        kill_marked(self.mark)


def end_all(processes: Iterable[LoggedProcess], patience_s: float) -> None:
    """Ask all to end, give them so long together, then kill what is left of them."""
    mine = list(processes)
    deadline = time.monotonic() + patience_s
    for process in mine:
        process.ask_to_end()
    try:
        while not all(process.has_ended for process in mine) and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
    finally:  # also where a second Ctrl-C ends the wait
        for process in mine:
            process.kill()


def kill_marked(mark: str) -> None:
    """SIGKILL every process that was started with this mark, even in a session of its own."""
    for _ in range(_ROUNDS):  # a process that starts another one in between may be missed by one look
        marked = proc.started_with(MARK, mark)
        if not marked:
            return
        for pid in marked:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass  # it has ended, or has changed its user
        time.sleep(_LOOK_EVERY_S)


# ---- what the processes of a rehearsal are started with: command lines and variables


MARK = "NBACCEL_REHEARSAL"  # in the environment of each process: RUN/POD
OBJECT_STORE_BYTES = 100_000_000  # of each pod; Ray takes no less than 75 MiB
UPDATE_INTERVAL_S = 1  # how often the autoscaler looks; in Kubernetes every 5 s
_TYPE = "accelerator_type:"  # of a resource
_RAY_START = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
_AUTOSCALER = (
    "import sys; from ray.autoscaler._private.kuberay.run_autoscaler import run_kuberay_autoscaler as run; "
    "run(*sys.argv[1:])"
)


def head_line(group: PodGroup, pod: Pod, *, port: int, client_port: int, folder: Path) -> list[str]:
    """The head of the cluster. Ray's own monitor stays away: the autoscaler has a process of its own, as in KubeRay."""
    own = ["--head", "--no-monitor", f"--port={port}", f"--temp-dir={folder}", "--include-dashboard=false"]
    if client_port:
        own.append(f"--ray-client-server-port={client_port}")
    return [*_RAY_START, *own, *_node_options(group, pod)]


def worker_line(group: PodGroup, pod: Pod, address: str) -> list[str]:
    """A pod of a worker group."""
    return [*_RAY_START, f"--address={address}", *_node_options(group, pod)]


def autoscaler_line(cluster: PlayedCluster, address: str) -> list[str]:
    """Ray's autoscaler, as KubeRay runs it beside the head."""
    return [sys.executable, "-c", _AUTOSCALER, cluster.name, cluster.namespace, address]


def node_variables(environ: Mapping[str, str], *, token_file: Path, mark: str) -> dict[str, str]:
    """What all of Ray's processes share: the token of this cluster, and nothing that points to another one."""
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith("RAY_") and not name.endswith("VISIBLE_DEVICES")
    }
    path = os.pathsep.join(filter(None, (str(FOLDER), environ.get("PYTHONPATH"))))
    return {
        **kept,
        MARK: mark,
        "PYTHONPATH": path,  # Ray's processes start faster
        "PYTHONUNBUFFERED": "1",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token_file),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_prestart_worker_first_driver": "0",  # a pod of 64 CPUs would start 64 processes here
    }


def pod_variables(pod: Pod) -> dict[str, str]:
    """What KubeRay tells a pod: the autoscaler knows nodes by these."""
    variables = {"RAY_CLOUD_INSTANCE_ID": pod.name, "RAY_NODE_TYPE_NAME": pod.group}
    return {**variables, "RAY_enable_autoscaler_v2": "1"} if pod.group == HEAD_GROUP else variables


def autoscaler_variables(cluster: PlayedCluster, certificate: Certificate, port: int) -> dict[str, str]:
    """Where the autoscaler finds its API server, and what it shows there."""
    own_programs = os.path.dirname(sys.executable)
    return {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT_HTTPS": str(port),
        "RAY_KUBERAY_CA_CERT_PATH": str(certificate.certificate),
        "RAY_KUBERAY_CLIENT_CERT_PATH": str(certificate.certificate),
        "RAY_KUBERAY_CLIENT_KEY_PATH": str(certificate.key),
        "RAY_HEAD_POD_NAME": cluster.head_name,
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "PATH": os.pathsep.join(filter(None, (own_programs, os.environ.get("PATH")))),  # it starts the program `ray`
        "AUTOSCALER_UPDATE_INTERVAL_S": str(UPDATE_INTERVAL_S),
        "AUTOSCALER_METRIC_PORT": "0",  # a free one
    }


def described_command(group: PodGroup) -> str:
    """What one pod has, in words: "3 CPU, 1 GPU, A100"."""
    reading = dict(autoscaler_reading(group))
    memory = reading.pop("memory", None)
    kinds = [name.partition(":")[2] for name in reading if name.startswith(_TYPE)]
    counted = {name: amount for name, amount in reading.items() if not name.startswith(_TYPE)}
    parts = [f"{amount} {name}" for name, amount in counted.items() if amount or name == "CPU"]
    return ", ".join([*parts, *([f"{memory / 2**30:.3g} GiB"] if memory else []), *kinds])


def _node_options(group: PodGroup, pod: Pod) -> list[str]:
    """The resources that Ray's autoscaler counts on, whatever this machine has."""
    reading = dict(autoscaler_reading(group))
    options = [f"--node-ip-address={pod.ip}", f"--num-cpus={reading.pop('CPU')}"]
    options.append(f"--num-gpus={reading.pop('GPU', 0)}")
    if memory := reading.pop("memory", None):
        options.append(f"--memory={memory}")
    if reading:
        options.append(f"--resources={json.dumps(reading)}")
    if labels := _labels(group):
        options.append("--labels=" + ",".join(f"{key}={value}" for key, value in labels.items()))
    # Other clusters may run on this machine: every port is a free one.
    options += ["--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0"]
    return [*options, f"--object-store-memory={OBJECT_STORE_BYTES}"]


def _labels(group: PodGroup) -> dict[str, str]:
    return {str(key): str(value) for key, value in fields_of(group.fields.get("labels")).items()}

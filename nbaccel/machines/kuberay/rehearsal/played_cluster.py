"""The RayCluster and its pods, as an API server keeps them: read and changed by several threads."""

from __future__ import annotations

import copy
import http.server
import json
import secrets
import shutil
import ssl
import string
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from nbaccel.machines.kuberay.manifest import fields_of

HEAD_GROUP = "headgroup"  # what Ray calls the head's group
DEFAULT_NAMESPACE = "default"
# What the API server and the operator fill in: Ray's autoscaler reads and replaces these without asking whether they
# are there.
_GROUP_DEFAULTS: dict[str, Any] = {"replicas": 0, "minReplicas": 0, "numOfHosts": 1, "scaleStrategy": {}}
_LETTERS = string.ascii_lowercase + string.digits


class PodState(Enum):
    WAITING = "waiting"  # for its turn to start
    STARTING = "starting"
    RUNNING = "running"
    LEAVING = "leaving"


@dataclass(slots=True)
class Pod:
    """One pod: a Ray node of the played cluster."""

    name: str
    group: str
    ip: str
    state: PodState = PodState.WAITING

    @property
    def is_head(self) -> bool:
        return self.group == HEAD_GROUP


@dataclass(slots=True)
class Replicas:
    """A change of one group's numbers that was asked for by PATCH."""

    group: str
    before: int
    after: int
    leaving: list[str]


@dataclass(slots=True)
class PlayedCluster:
    """What the API server answers, and what the operator works on. `asked` is called after each PATCH."""

    manifest: dict[str, Any]
    asked: Callable[[list[Replicas]], None] = lambda changes: None
    pods: dict[str, Pod] = field(default_factory=dict)
    _version: int = 0
    _addresses: int = 1  # 127.0.0.1 is left to the machine: Ray replaces it by another address
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.manifest = copy.deepcopy(self.manifest)
        self.manifest.setdefault("metadata", {}).setdefault("namespace", DEFAULT_NAMESPACE)
        for group in self.manifest["spec"].get("workerGroupSpecs") or []:
            for name, value in _GROUP_DEFAULTS.items():
                group.setdefault(name, copy.copy(value))
        self._changed()

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.manifest["metadata"]["namespace"])

    @property
    def head_name(self) -> str:
        return f"{self.name}-head"

    def read(self) -> dict[str, Any]:
        """The RayCluster as it is now."""
        with self._lock:
            return copy.deepcopy(self.manifest)

    def change(self, changes: Any, *, merge: bool) -> dict[str, Any]:
        """Apply a PATCH and return the RayCluster. Raises Unpatchable, and changes nothing then."""
        with self._lock:
            before = self.manifest
            self.manifest = merged(before, changes) if merge else patched(before, changes)
            self._changed()
            found = _differences(before, self.manifest)
            now = copy.deepcopy(self.manifest)
        self.asked(found)
        return now

    def add_pod(self, group: str) -> Pod:
        """A new pod that has not started. Each has an address of its own on the loopback device."""
        with self._lock:
            self._addresses += 1
            number = self._addresses
            ip = f"127.0.{number // 250}.{number % 250 + 1}"
            suffix = "".join(secrets.choice(_LETTERS) for _ in range(5))
            name = self.head_name if group == HEAD_GROUP else f"{self.name}-{group}-worker-{suffix}"
            self.pods[name] = pod = Pod(name, group, ip)
            self._changed()
            return pod

    def move(self, pod: Pod, state: PodState) -> None:
        with self._lock:
            pod.state = state
            self._changed()

    def forget(self, pod: Pod) -> None:
        with self._lock:
            self.pods.pop(pod.name, None)
            self._changed()

    def current_pods(self) -> list[Pod]:
        with self._lock:
            return list(self.pods.values())

    def pod_list(self, labels: dict[str, str]) -> dict[str, Any]:
        """The pods that have these labels, as Kubernetes lists them."""
        with self._lock:
            shown = [self._shown(pod) for pod in self.pods.values()]
            items = [each for each in shown if labels.items() <= each["metadata"]["labels"].items()]
            version = {"resourceVersion": str(self._version)}
        return {"kind": "PodList", "apiVersion": "v1", "metadata": version, "items": items}

    def pod_object(self, name: str) -> dict[str, Any] | None:
        with self._lock:
            return self._shown(self.pods[name]) if name in self.pods else None

    def _shown(self, pod: Pod) -> dict[str, Any]:
        labels = {
            "ray.io/cluster": self.name,
            "ray.io/group": pod.group,
            "ray.io/node-type": "head" if pod.is_head else "worker",
        }
        metadata: dict[str, Any] = {"name": pod.name, "namespace": self.namespace, "labels": labels}
        metadata["resourceVersion"] = str(self._version)
        status: dict[str, Any] = {"phase": "Pending"}
        if pod.state is not PodState.WAITING:
            status["podIP"] = pod.ip
            running = pod.state is not PodState.STARTING
            state: dict[str, Any] = {"running": {}} if running else {"waiting": {"reason": "ContainerCreating"}}
            status["containerStatuses"] = [{"name": "ray", "ready": running, "state": state}]
            status["phase"] = "Running" if running else "Pending"
        if pod.state is PodState.LEAVING:
            metadata["deletionTimestamp"] = "1970-01-01T00:00:00Z"  # its presence counts, not its time
        spec = {"containers": [{"name": "ray"}]}
        return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": status}

    def _changed(self) -> None:
        self._version += 1
        self.manifest["metadata"]["resourceVersion"] = str(self._version)


def _differences(before: dict[str, Any], after: dict[str, Any]) -> list[Replicas]:
    found = []
    groups = zip(
        before["spec"].get("workerGroupSpecs") or [], after["spec"].get("workerGroupSpecs") or [], strict=False
    )
    for old, new in groups:
        leaving = [name for name in _leaving(new) if name not in _leaving(old)]
        if old.get("replicas") != new.get("replicas") or leaving:
            found.append(Replicas(str(new.get("groupName")), old.get("replicas", 0), new.get("replicas", 0), leaving))
    return found


def _leaving(group: dict[str, Any]) -> list[str]:
    return list(fields_of(group.get("scaleStrategy")).get("workersToDelete") or [])


# ---- changes of an object as an API server takes them: JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386)


class Unpatchable(ValueError):
    """The change does not fit the object."""


def patched(document: dict[str, Any], operations: Any) -> dict[str, Any]:
    """The object after a JSON Patch; the one that is given stays as it is. Raises Unpatchable."""
    import jsonpatch

    try:
        return cast(dict[str, Any], jsonpatch.apply_patch(document, operations))
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, AttributeError) as error:
        raise Unpatchable(f"The patch does not fit: {error}") from None


def merged(document: dict[str, Any], changes: Any) -> dict[str, Any]:
    """The object after a JSON Merge Patch. Raises Unpatchable."""
    if not isinstance(changes, dict):
        raise Unpatchable("A merge patch is a set of fields.")
    return _merged(document, changes)


def _merged(document: Any, changes: dict[str, Any]) -> dict[str, Any]:
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value) if isinstance(value, dict) else copy.deepcopy(value)
    return result


# ---- the part of Kubernetes' API that Ray's autoscaler speaks, on this machine only
#
# The autoscaler reads the RayCluster and changes it, and lists its pods. Ray takes an API server by HTTPS only, so
# each rehearsal has a certificate; whoever does not show it is refused, since a PATCH starts processes.


_HOST = "127.0.0.1"
_MOST_BYTES = 1 << 20  # of a PATCH
_SILENCE_S = 30.0  # a client that says nothing for so long is left
_MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A key and its certificate in files of this user; both sides of a connection show it."""

    certificate: Path
    key: Path


def make_certificate(folder: Path) -> Certificate:
    """Make them with the program openssl. Raises RuntimeError if it is missing or refuses."""
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    program = shutil.which("openssl")
    if program is None:
        raise RuntimeError(
            "openssl is not on the PATH. Ray's autoscaler speaks HTTPS only, and openssl makes the certificate for it. "
            "Install it with your system's packages, for example: apt-get install openssl"
        )
    command = [program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "30", "-subj", "/CN=nbaccel rehearsal", "-addext", f"subjectAltName=IP:{_HOST}"]
    command += ["-keyout", str(made.key), "-out", str(made.certificate)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, umask=0o077)
    if done.returncode:
        raise RuntimeError(f"openssl has made no certificate. It says: {' '.join(done.stderr.split())[-300:]}")
    return made


@contextmanager
def serving(cluster: PlayedCluster, certificate: Certificate) -> Iterator[int]:
    """Answer on a free port of 127.0.0.1, which is the result, until the block ends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.certificate, certificate.key)
    context.load_verify_locations(certificate.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    server = _Server((_HOST, 0), _Handler)
    server.cluster = cluster
    # Each connection shakes hands in its own thread: a client that does not must not keep the others waiting.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="api-server")
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    cluster: PlayedCluster

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks or shows no certificate ends; there is nobody to tell."""


class _Handler(http.server.BaseHTTPRequestHandler):
    timeout = _SILENCE_S
    server: _Server

    def do_GET(self) -> None:
        cluster, parts = self.server.cluster, urlsplit(self.path)
        pods = f"/api/v1/namespaces/{cluster.namespace}/pods"
        if parts.path == self._cluster_path():
            self._answer(200, cluster.read())
        elif parts.path == pods:
            self._answer(200, cluster.pod_list(_labels(parts.query)))
        elif parts.path.startswith(f"{pods}/") and (pod := cluster.pod_object(parts.path[len(pods) + 1 :])):
            self._answer(200, pod)
        else:
            self._refuse(404, f"{parts.path} is not here.")

    def do_PATCH(self) -> None:
        if urlsplit(self.path).path != self._cluster_path():
            self._refuse(404, f"{self.path} cannot be changed here.")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            self._refuse(413, "The change is too large, or does not say how large it is.")
            return
        try:
            changes = json.loads(self.rfile.read(int(length)))
            merge = self.headers.get_content_type() == _MERGE
            self._answer(200, self.server.cluster.change(changes, merge=merge))
        except Unpatchable as error:
            self._refuse(422, str(error))
        except ValueError as error:
            self._refuse(400, f"The change is no JSON: {error}")

    def _cluster_path(self) -> str:
        cluster = self.server.cluster
        return f"/apis/ray.io/v1/namespaces/{cluster.namespace}/rayclusters/{cluster.name}"

    def _answer(self, code: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _refuse(self, code: int, message: str) -> None:
        self._answer(
            code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message}
        )

    def log_message(self, format: str, *args: Any) -> None:
        """What is asked is told in the words of the rehearsal."""


def _labels(query: str) -> dict[str, str]:
    """The labels of `labelSelector=a=b,c=d`."""
    selectors = [part for text in parse_qs(query).get("labelSelector", []) for part in text.split(",")]
    pairs = (part.partition("=") for part in selectors if "=" in part)
    return {name.strip(): value.lstrip("=").strip() for name, _, value in pairs}

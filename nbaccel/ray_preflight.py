"""Asks a Ray cluster what it runs, before this process joins: milliseconds, where Ray itself tries for 20 s.

It needs an imported Ray, and neither starts nor joins anything. Outside of the Ray engine, only it uses names of Ray's
that are not public. Another Ray, or another Python to the last number, is
refused by a node and by a driver that joins at "host:6379".
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import secrets
import shlex
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbaccel import plain_files

_ANSWER_TIMEOUT_S = 3.0
_METADATA = (b"CLUSTER_METADATA", b"cluster")  # the key and its namespace, which every head of Ray's writes

_NODE_TYPES = (b"nbaccel_node_types", b"nbaccel")  # nbaccel_in_ray.growth reads it


@dataclass(frozen=True, slots=True)
class RayVersions:
    """The Ray and the Python of a cluster, or of this process."""

    ray: str
    python: str

    def __str__(self) -> str:
        return f"Ray {self.ray} on Python {self.python}"


def answers(host: str, port: int) -> None:
    """Whether somebody listens there; raises OSError."""
    socket.create_connection((host, port), timeout=_ANSWER_TIMEOUT_S).close()


def ask_versions(address: str) -> RayVersions | None:
    """What a cluster at "host:port" runs; None where it does not say.

    Raises one of `token_errors` if the cluster does not take this process's token.
    """
    from ray.exceptions import RayError

    try:
        return _read(_client(address).internal_kv_get(*_METADATA, timeout=_ANSWER_TIMEOUT_S))
    except token_errors():
        raise
    except (RayError, RuntimeError, OSError):
        return None  # Ray's own attempt reports other errors


def token_errors() -> tuple[type[Exception], ...]:
    """Ray's error of a token that is not taken; none for a Ray that knows no tokens. Raises ModuleNotFoundError."""
    errors: Any = importlib.import_module("ray.exceptions")
    return (errors.AuthenticationError,) if hasattr(errors, "AuthenticationError") else ()


def _read(metadata: bytes | None) -> RayVersions | None:
    try:
        known = json.loads(metadata or b"{}")
        return RayVersions(str(known["ray_version"]), str(known["python_version"]))
    except (ValueError, KeyError, TypeError):
        return None


def versions_here() -> RayVersions:
    """What this process runs."""
    ray: Any = importlib.import_module("ray")
    return RayVersions(str(ray.__version__), platform.python_version())


def mismatch(cluster: RayVersions, here: RayVersions) -> str:
    """A sentence where Ray would refuse to join; empty if the versions go together."""
    numbers = 2 if os.environ.get("RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL") == "minor" else 3
    same_python = cluster.python.split(".")[:numbers] == here.python.split(".")[:numbers]
    if cluster.ray == here.ray and same_python:
        return ""
    told = f"The cluster runs {cluster}, and here is {here}."
    if not same_python:
        major, minor = (*cluster.python.split("."), "")[:2]
        return (
            f"{told} Ray needs the same Python: use Python {cluster.python} here, or an image tagged "
            f"py{''.join(here.python.split('.')[:2])} for the cluster (now py{major}{minor})."
        )
    return f"{told} Ray needs the same Ray: pip install 'ray[client]=={cluster.ray}'"


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """The nodes of a cluster that are alive, and what they have together."""

    nodes: int
    quantities: dict[str, float]

    def __str__(self) -> str:
        counted = [f"{self.quantities.get(name, 0):g} {name}s" for name in ("CPU", "GPU")]
        return ", ".join([f"{self.nodes} node{'s' if self.nodes != 1 else ''}", *counted])


def cluster_size(address: str) -> ClusterSize | None:
    """How large the cluster at "host:port" is; None where it does not say.

    Raises ConnectionError if the cluster does not take this process's token.
    """
    alive = living_nodes(address)
    if alive is None:
        return None
    quantities: dict[str, float] = {}
    for node in alive:
        for name, amount in node.resources_total.items():
            quantities[name] = quantities.get(name, 0.0) + amount
    return ClusterSize(len(alive), quantities)


def living_nodes(address: str) -> list[Any] | None:
    """Ray's records of the nodes that are alive; None where the cluster at "host:port" does not say.

    Raises ConnectionError if the cluster does not take this process's token.
    """
    from ray.core.generated.gcs_pb2 import GcsNodeInfo
    from ray.exceptions import RayError

    try:
        found = _client(address).get_all_node_info(timeout=_ANSWER_TIMEOUT_S).values()
    except token_errors():
        raise ConnectionError(f"The cluster at {address} does not take the token.") from None
    except (RayError, RuntimeError, OSError):
        return None
    return [node for node in found if node.state == GcsNodeInfo.ALIVE]


def _client(address: str) -> Any:
    """A connection to the head, with the token of this moment."""
    # Ray reads its variables when it is imported, and the token once; a notebook may have set them since.
    raylet: Any = importlib.import_module("ray._raylet")
    raylet.Config.initialize("")
    if hasattr(raylet, "AuthenticationTokenLoader"):
        raylet.AuthenticationTokenLoader.instance().reset_cache()
    return raylet.GcsClient(address=address)


class HeadLink:
    """Of a provider of nodes, which Ray's autoscaler runs: its connection to the head."""

    def __init__(self, address: str) -> None:
        raylet: Any = importlib.import_module("ray._raylet")
        self._client = raylet.GcsClient(address=address)

    def joined(self, timeout_s: float) -> set[str]:
        """The ids that the provider gave to nodes that are alive. Raises Ray's errors, RuntimeError, OSError."""
        from ray.core.generated.autoscaler_pb2 import GetClusterResourceStateReply

        reply = GetClusterResourceStateReply()
        reply.ParseFromString(self._client.get_cluster_resource_state(timeout_s=timeout_s))
        dead = 2  # NodeStatus.DEAD
        nodes = reply.cluster_resource_state.node_states
        return {node.instance_id for node in nodes if node.instance_id and node.status != dead}

    def publish(self, key: bytes, text: str, namespace: bytes) -> None:
        """Keep a text where every driver of the cluster can read it."""
        self._client.internal_kv_put(key, text.encode(), True, namespace)


def publish_node_types(address: str, types: dict[str, dict[str, Any]]) -> None:
    """Note in the cluster at "host:port" which types of nodes it can get: Ray tells its programs none.

    Each has resources, labels, min_workers, max_workers and idle_s.
    """
    _client(address).internal_kv_put(_NODE_TYPES[0], json.dumps(types).encode(), True, _NODE_TYPES[1])


# ---- the token of a Ray cluster: where it lies, how it is made, and how this process shows it
#
# Ray takes a file's token only if RAY_AUTH_MODE says so; without, a driver or a node fails after 20 s with a bare
# "Failed to connect". Whoever has the token may run code on every node, so a file that others may read is refused.


_LONGEST_BYTES = 65_536  # of a file; a token of Kubernetes' has some thousand characters


def usual_file() -> Path:
    """Where Ray looks for the token: RAY_AUTH_TOKEN_PATH, else ~/.ray/auth_token."""
    named = os.environ.get("RAY_AUTH_TOKEN_PATH")
    return Path(named) if named else Path.home() / ".ray" / "auth_token"


def read_token(file: str | os.PathLike[str]) -> str:
    """The token in a file. Raises ValueError where there is none, and PermissionError where others may read it."""
    path = Path(file).expanduser()
    try:
        facts = path.stat()
        text = plain_files.read(path, _LONGEST_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ValueError(
            f"The token in {path} cannot be read ({why}). Copy the head's: scp head:~/.ray/auth_token {path}"
        ) from None
    if stat.S_IMODE(facts.st_mode) & 0o077:
        raise PermissionError(
            f"Others may read {path} (its mode is {stat.S_IMODE(facts.st_mode):04o}), and whoever has the token may "
            f"run code in the cluster. Type: chmod 600 {shlex.quote(str(path))}"
        )
    if not text or len(text.split()) > 1:
        raise ValueError(f"{path} holds no token. Copy the head's: scp head:~/.ray/auth_token {path}")
    return text


def write_token(path: Path, token: str) -> None:
    """Write the token so that only this user may read it; a file that is there is replaced at once."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(token)
    os.replace(beside, path)


def make_token() -> str:
    """A new token, as long as Ray's own."""
    return secrets.token_hex(32)


def show_token_of(file: str) -> None:
    """Make Ray in this process show the token of this file; raises as `read_token` does."""
    read_token(file)
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_AUTH_TOKEN_PATH"] = str(Path(file).expanduser().absolute())
    os.environ.pop("RAY_AUTH_TOKEN", None)  # it would go before the file

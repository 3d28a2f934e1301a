"""What a notebook on this machine needs of a RayCluster: its token, and a tunnel to the head's port for clients."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbaccel import plain_files, ray_tokens
from nbaccel.machines.kuberay.faults import fields_of
from nbaccel.machines.kuberay.installed_ray import installed_ray
from nbaccel.machines.kuberay.kubectl import Kubectl, KubectlRefusal, NotThere
from nbaccel.machines.kuberay.tunnel import Tunnel

CLIENT_PORT = 10001
_TOKEN_KEY = "auth_token"


def connect(kubectl: Kubectl, name: str, token_file: Path | None, tunnel: Tunnel, say: Callable[[str], None]) -> None:
    """Fetch the token, open the tunnel, tell how to join, and keep the tunnel. Raises KubectlRefusal."""
    cluster = kubectl.get("rayclusters.ray.io", name)
    differ = versions_differ(fields_of(cluster.get("spec")).get("rayVersion"), installed_ray())
    if differ:
        say(differ)
    file = save_token(kubectl, name, cluster, token_file)
    tunnel.service = _service(name, cluster)

    def opened(port: int) -> None:
        shown = f" token_file={plain_files.as_typed(file)}" if file else ""
        say(f"The tunnel to RayCluster {name} is open on 127.0.0.1:{port}. Ctrl-C closes it.")
        say(f"  join it   %accel_init address=ray://127.0.0.1:{port}{shown}")

    tunnel.keep(opened)


def save_token(kubectl: Kubectl, name: str, cluster: dict[str, Any], file: Path | None) -> Path | None:
    """Write the cluster's token to a file of this user; None for a cluster that has none."""
    options = fields_of(fields_of(cluster.get("spec")).get("authOptions"))
    if options.get("mode") != "token":
        return None
    secret_name = str(options.get("secretName") or name)
    try:
        secret = kubectl.get("secret", secret_name)
    except NotThere as error:
        raise KubectlRefusal(
            f"RayCluster {name} wants a token, but its Secret {secret_name} is not there. KubeRay makes it with the "
            f"head's pod: kubectl describe raycluster {name} says how far it is. ({error})"
        ) from None
    try:
        token = base64.b64decode(str(fields_of(secret.get("data")).get(_TOKEN_KEY, "")), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        token = ""
    if not token.strip():
        raise KubectlRefusal(f"The Secret {secret_name} has no readable {_TOKEN_KEY}, where KubeRay keeps the token.")
    path = file or Path.home() / ".ray" / f"{name}.token"
    ray_tokens.write_token(path, token.strip())
    return path


def versions_differ(cluster_version: Any, here: str) -> str:
    """A sentence where the cluster's Ray is known and is another than the one here; a client needs the same."""
    if not here or not cluster_version or str(cluster_version) == here:
        return ""
    return (
        f"The cluster has Ray {cluster_version}, and this machine has {here}: a client needs the same. Type: "
        f"pip install 'ray[client]=={cluster_version}'"
    )


def _service(name: str, cluster: dict[str, Any]) -> str:
    status = fields_of(fields_of(cluster.get("status")).get("head"))
    return str(status.get("serviceName") or f"{name}-head-svc")

"""What a notebook on this machine needs of a RayCluster: its token, and a tunnel to the head's port for clients."""

from __future__ import annotations

import base64
import binascii
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbaccel import plain_files, ray_preflight
from nbaccel.machines.kuberay.manifest import fields_of, installed_ray

# ---- kubectl as a program
#
# The user's context, login plugins and proxies work in it, and its refusals become sentences.


ANSWER_TIMEOUT_S = 60.0  # a login plugin may ask its provider first
_LOGIN = (
    "unauthorized",
    "you must be logged in",
    "token has expired",
    "expired",
    "getting credentials",
    "refresh token",
)
_NO_SERVER = ("unable to connect to the server", "was refused", "i/o timeout", "no such host")


class KubectlError(RuntimeError):
    """kubectl could not do what it was asked; the message says why and what to do."""


class NotThere(KubectlError):
    """There is no such object."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """One cluster of Kubernetes and one namespace of it, as the user's kubectl knows them."""

    program: str
    namespace: str = ""
    context: str = ""

    def command(self, *arguments: str) -> list[str]:
        where = ["--context", self.context] if self.context else []
        where += ["--namespace", self.namespace] if self.namespace else []
        return [self.program, *arguments, *where]

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """The object. Raises KubectlError."""
        try:
            done = subprocess.run(
                self.command("get", kind, name, "-o", "json"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=ANSWER_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            raise KubectlError(
                f"kubectl has not answered for {ANSWER_TIMEOUT_S:g} s. Try it by itself: kubectl get {kind} {name}"
            ) from None
        if done.returncode:
            raise error_of(done.stderr, f"{kind} {name}", self.namespace)
        try:
            return dict(json.loads(done.stdout))
        except ValueError:
            raise KubectlError(f"kubectl get {kind} {name} has printed no JSON: {done.stdout[:200]!r}") from None


def find_kubectl(namespace: str, context: str) -> Kubectl:
    """The kubectl on the path. Raises KubectlError where there is none."""
    program = shutil.which("kubectl")
    if program is None:
        raise KubectlError(
            "kubectl is not on the PATH; it is the program that knows your Kubernetes and your login. Install it: "
            "https://kubernetes.io/docs/tasks/tools"
        )
    return Kubectl(program, namespace, context)


def error_of(stderr: str, what: str, namespace: str) -> KubectlError:
    """kubectl's last line as a sentence that says what to do."""
    lines = [" ".join(line.split()) for line in stderr.splitlines() if line.strip()]
    said = lines[-1][-600:] if lines else "it gave no reason"
    low = " ".join(stderr.split()).lower()
    if "(forbidden)" in low or "is forbidden" in low:
        return KubectlError(
            f"Your login may not do this with {what}: {said}. Ask the administrator of the namespace for the right, or "
            "name another one: --namespace."
        )
    if "the server doesn't have a resource type" in low:
        return KubectlError(
            f"This Kubernetes has no RayClusters: KubeRay's operator is not installed, or kubectl talks to another "
            f"cluster (kubectl config current-context). kubectl says: {said}"
        )
    if "(notfound)" in low or "not found" in low:
        where = f"namespace {namespace}" if namespace else "namespace of kubectl's context"
        return NotThere(f"There is no {what} in the {where}; name another one: --namespace. kubectl says: {said}")
    if any(words in low for words in _LOGIN):
        return KubectlError(
            "kubectl's login is not valid any more. Log in again as you did the first time, then repeat. kubectl "
            f"says: {said}"
        )
    if any(words in low for words in _NO_SERVER):
        return KubectlError(
            "Kubernetes cannot be reached: is the network (VPN) up, and is kubectl's context the right one (kubectl "
            f"config current-context)? kubectl says: {said}"
        )
    return KubectlError(f"kubectl failed for {what}: {said}")


CLIENT_PORT = 10001
_TOKEN_KEY = "auth_token"


def connect(kubectl: Kubectl, name: str, token_file: Path | None, tunnel: Tunnel, say: Callable[[str], None]) -> None:
    """Fetch the token, open the tunnel, tell how to join, and keep the tunnel. Raises KubectlError."""
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
        raise KubectlError(
            f"RayCluster {name} wants a token, but its Secret {secret_name} is not there. KubeRay makes it with the "
            f"head's pod: kubectl describe raycluster {name} says how far it is. ({error})"
        ) from None
    try:
        token = base64.b64decode(str(fields_of(secret.get("data")).get(_TOKEN_KEY, "")), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        token = ""
    if not token.strip():
        raise KubectlError(f"The Secret {secret_name} has no readable {_TOKEN_KEY}, where KubeRay keeps the token.")
    path = file or Path.home() / ".ray" / f"{name}.token"
    ray_preflight.write_token(path, token.strip())
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


# ---- a tunnel to a service of Kubernetes: `kubectl port-forward`, started again whenever it ends
#
# kubectl ends with the pod that it forwards to, and with the network. The local port stays the same, so that a notebook
# that joins again finds the cluster where it was.


_FORWARDING = re.compile(r"^Forwarding from 127\.0\.0\.1:(\d+) ->")
_QUIET = ("Handling connection", "Forwarding from")
_PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
_END_TIMEOUT_S = 5.0


@dataclass(slots=True)
class Tunnel:
    """One port of this machine that leads to a port of a service."""

    kubectl: Kubectl
    service: str
    remote_port: int
    local_port: int = 0  # a free one if it is 0
    say: Callable[[str], None] = print
    pause: Callable[[float], None] = time.sleep
    _failures: int = field(default=0, init=False)  # in turn, since the tunnel stood
    _last_words: str = field(default="", init=False)

    def keep(self, opened: Callable[[int], None]) -> None:
        """Keep the tunnel until an exception (Ctrl-C) ends it; `opened` is called once, with the local port.

        Raises KubectlError if the tunnel cannot be opened the first time.
        """
        stood = False
        while True:
            stood = self._forward_once(opened if not stood else self._mended) or stood
            if not stood:
                raise error_of(self._last_words, f"service {self.service}", self.kubectl.namespace)
            if not self._failures:
                self.say(f"The tunnel has ended ({self._last_words or 'kubectl gave no reason'}); it is opened again.")
            self.pause(_PAUSES_S[min(self._failures, len(_PAUSES_S) - 1)])
            self._failures += 1

    def _mended(self, port: int) -> None:
        self.say(f"The tunnel on 127.0.0.1:{port} is open again.")

    def _forward_once(self, opened: Callable[[int], None]) -> bool:
        """Whether the tunnel stood before kubectl ended."""
        ports = f"{self.local_port or ''}:{self.remote_port}"
        arguments = ("port-forward", "--address", "127.0.0.1", f"service/{self.service}", ports)
        process = subprocess.Popen(
            self.kubectl.command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            return self._read(process, opened)
        finally:
            _end(process)

    def _read(self, process: subprocess.Popen[str], opened: Callable[[int], None]) -> bool:
        stood = False
        assert process.stdout is not None, "it was started with a pipe"
        for line in process.stdout:
            found = _FORWARDING.match(line)
            if found and not stood:
                stood, self._failures, self._last_words = True, 0, ""
                self.local_port = int(found[1])
                opened(self.local_port)
            elif line.strip() and not line.startswith(_QUIET):
                self._last_words = line.strip()
        return stood


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()

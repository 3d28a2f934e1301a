"""kubectl as a program: the user's context, login plugins and proxies work in it, and its refusals become sentences."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

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


class KubectlRefusal(RuntimeError):
    """kubectl could not do what it was asked; the message says why and what to do."""


class NotThere(KubectlRefusal):
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
        """The object. Raises KubectlRefusal."""
        try:
            done = subprocess.run(
                self.command("get", kind, name, "-o", "json"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=ANSWER_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            raise KubectlRefusal(
                f"kubectl has not answered for {ANSWER_TIMEOUT_S:g} s. Try it by itself: kubectl get {kind} {name}"
            ) from None
        if done.returncode:
            raise refusal_of(done.stderr, f"{kind} {name}", self.namespace)
        try:
            return dict(json.loads(done.stdout))
        except ValueError:
            raise KubectlRefusal(f"kubectl get {kind} {name} has printed no JSON: {done.stdout[:200]!r}") from None


def find_kubectl(namespace: str, context: str) -> Kubectl:
    """The kubectl on the path. Raises KubectlRefusal where there is none."""
    program = shutil.which("kubectl")
    if program is None:
        raise KubectlRefusal(
            "kubectl is not on the PATH; it is the program that knows your Kubernetes and your login. Install it: "
            "https://kubernetes.io/docs/tasks/tools"
        )
    return Kubectl(program, namespace, context)


def refusal_of(stderr: str, what: str, namespace: str) -> KubectlRefusal:
    """kubectl's last line as a sentence that says what to do."""
    lines = [" ".join(line.split()) for line in stderr.splitlines() if line.strip()]
    said = lines[-1][-600:] if lines else "it gave no reason"
    low = " ".join(stderr.split()).lower()
    if "(forbidden)" in low or "is forbidden" in low:
        return KubectlRefusal(
            f"Your login may not do this with {what}: {said}. Ask the administrator of the namespace for the right, or "
            "name another one: --namespace."
        )
    if "the server doesn't have a resource type" in low:
        return KubectlRefusal(
            f"This Kubernetes has no RayClusters: KubeRay's operator is not installed, or kubectl talks to another "
            f"cluster (kubectl config current-context). kubectl says: {said}"
        )
    if "(notfound)" in low or "not found" in low:
        where = f"namespace {namespace}" if namespace else "namespace of kubectl's context"
        return NotThere(f"There is no {what} in the {where}; name another one: --namespace. kubectl says: {said}")
    if any(words in low for words in _LOGIN):
        return KubectlRefusal(
            "kubectl's login is not valid any more. Log in again as you did the first time, then repeat. kubectl "
            f"says: {said}"
        )
    if any(words in low for words in _NO_SERVER):
        return KubectlRefusal(
            "Kubernetes cannot be reached: is the network (VPN) up, and is kubectl's context the right one (kubectl "
            f"config current-context)? kubectl says: {said}"
        )
    return KubectlRefusal(f"kubectl failed for {what}: {said}")

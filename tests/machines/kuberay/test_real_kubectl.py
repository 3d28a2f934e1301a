"""The real kubectl, asked as `connect` asks it, against a small API server: what it fetches, and what it refuses.

The words that become sentences are kubectl's own here; `test_connect.py` plays kubectl with a small program.
"""

from __future__ import annotations

import base64
import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbaccel.machines.kuberay.connecting import Kubectl, KubectlError, NotThere, find_kubectl, save_token

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="the program kubectl is missing"),
]

TOKEN = "ab" * 32
RAY = {"name": "rayclusters", "singularName": "raycluster", "namespaced": True, "kind": "RayCluster", "verbs": ["get"]}
SECRETS = {"name": "secrets", "singularName": "secret", "namespaced": True, "kind": "Secret", "verbs": ["get"]}
VERSION = {"groupVersion": "ray.io/v1", "version": "v1"}
CLUSTER = "/apis/ray.io/v1/namespaces/ml/rayclusters/c"
SECRET = "/api/v1/namespaces/ml/secrets/c"


def discovery() -> dict[str, Any]:
    """What an API server with KubeRay's definitions says it has."""
    group = {"name": "ray.io", "versions": [VERSION], "preferredVersion": VERSION}
    return {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [SECRETS]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]},
        "/apis/ray.io/v1": {"kind": "APIResourceList", "groupVersion": "ray.io/v1", "resources": [RAY]},
    }


class Kubernetes:
    """An API server for one test: the objects that it has, and the paths that it refuses."""

    def __init__(self) -> None:
        secret = {"auth_token": base64.b64encode(TOKEN.encode()).decode()}
        named = {"metadata": {"name": "c", "namespace": "ml"}}
        spec = {"authOptions": {"mode": "token"}}
        self.objects = discovery() | {
            CLUSTER: {"apiVersion": "ray.io/v1", "kind": "RayCluster", **named, "spec": spec},
            SECRET: {"apiVersion": "v1", "kind": "Secret", **named, "data": secret},
        }
        self.refused: dict[str, tuple[int, str]] = {}  # the beginning of a path -> the code and the reason

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        for beginning, (code, reason) in self.refused.items():
            if path.startswith(beginning):
                return code, self._status(code, reason, f"the server says {reason}")
        if path in self.objects:
            return 200, self.objects[path]
        return 404, self._status(404, "NotFound", f'"{path.rpartition("/")[2]}" not found')

    def _status(self, code: int, reason: str, message: str) -> dict[str, Any]:
        failure = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
        return {**failure, "code": code, "reason": reason, "message": message}


@pytest.fixture
def kubernetes() -> Kubernetes:
    return Kubernetes()


@pytest.fixture
def kubectl(kubernetes: Kubernetes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kubectl]:
    """The kubectl of this machine with a login of its own at the server."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body = kubernetes.answer(self.path.partition("?")[0])
            content = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "here", "context": {"cluster": "k", "user": "u", "namespace": "default"}}],
    }
    file = tmp_path / "config"
    file.write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(file))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    try:
        yield find_kubectl("ml", "here")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_cluster_and_its_token_are_fetched(kubectl: Kubectl, tmp_path: Path) -> None:
    cluster = kubectl.get("rayclusters.ray.io", "c")
    assert cluster["spec"] == {"authOptions": {"mode": "token"}}
    file = save_token(kubectl, "c", cluster, tmp_path / "token")
    assert file is not None and file.read_text() == TOKEN


def test_an_expired_login_is_told(kubectl: Kubectl, kubernetes: Kubernetes) -> None:
    kubernetes.refused["/"] = (401, "Unauthorized")
    with pytest.raises(KubectlError, match="Log in again"):
        kubectl.get("rayclusters.ray.io", "c")


def test_a_missing_right_is_told(kubectl: Kubectl, kubernetes: Kubernetes) -> None:
    kubernetes.refused[SECRET] = (403, "Forbidden")
    with pytest.raises(KubectlError, match="Your login may not do this with secret c"):
        kubectl.get("secret", "c")


def test_a_missing_cluster_is_told(kubectl: Kubectl) -> None:
    with pytest.raises(NotThere, match=r"There is no rayclusters\.ray\.io other in the namespace ml"):
        kubectl.get("rayclusters.ray.io", "other")


def test_a_kubernetes_without_kuberay_is_told(kubectl: Kubectl, kubernetes: Kubernetes) -> None:
    kubernetes.objects["/apis"]["groups"] = []
    with pytest.raises(KubectlError, match="KubeRay's operator is not installed"):
        kubectl.get("rayclusters.ray.io", "c")


def test_a_server_that_does_not_answer_is_told(kubectl: Kubectl, tmp_path: Path) -> None:
    config = json.loads((tmp_path / "config").read_text())
    config["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:1"
    (tmp_path / "config").write_text(json.dumps(config))
    with pytest.raises(KubectlError, match="Kubernetes cannot be reached"):
        kubectl.get("rayclusters.ray.io", "c")

"""The API server answers what Ray's autoscaler asks, only on this machine, and only to who shows its certificate."""

from __future__ import annotations

import http.client
import json
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbaccel.machines.kuberay.rehearsal.played_cluster import (
    HEAD_GROUP,
    Certificate,
    PlayedCluster,
    PodState,
    Replicas,
    make_certificate,
    serving,
)
from tests.machines.kuberay.rehearsal.manifests import manifest, needs_openssl

pytestmark = needs_openssl

CLUSTER = "/apis/ray.io/v1/namespaces/default/rayclusters/c"
PODS = "/api/v1/namespaces/default/pods"
JSON_PATCH, MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"


class Client:
    """Asks the server as Ray's autoscaler does."""

    def __init__(self, port: int, certificate: Certificate, *, shows: bool = True) -> None:
        self.port, self._context = port, ssl.create_default_context(cafile=str(certificate.certificate))
        if shows:
            self._context.load_cert_chain(certificate.certificate, certificate.key)

    def ask(self, method: str, path: str, body: Any = None, kind: str = JSON_PATCH, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self._context, timeout=60)
        try:
            content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
            connection.request(method, path, content, {"Content-Type": kind, **headers})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def asked() -> list[Replicas]:
    return []


@pytest.fixture
def cluster(asked: list[Replicas]) -> PlayedCluster:
    return PlayedCluster(manifest(), asked.extend)


@pytest.fixture
def client(cluster: PlayedCluster, certificate: Certificate) -> Iterator[Client]:
    with serving(cluster, certificate) as port:
        yield Client(port, certificate)


def test_only_this_user_may_read_the_key(certificate: Certificate) -> None:
    assert stat.S_IMODE(certificate.key.stat().st_mode) == 0o600


def test_a_cluster_has_what_an_api_server_fills_in(client: Client) -> None:
    code, found = client.ask("GET", CLUSTER)
    assert (code, found["kind"], found["metadata"]["namespace"]) == (200, "RayCluster", "default")
    assert found["spec"]["workerGroupSpecs"][0]["scaleStrategy"] == {}


def test_a_patch_changes_the_cluster_and_is_told(client: Client, asked: list[Replicas]) -> None:
    before = client.ask("GET", CLUSTER)[1]["metadata"]["resourceVersion"]
    at = "/spec/workerGroupSpecs/0"
    more = [{"op": "replace", "path": f"{at}/replicas", "value": 2}]
    code, found = client.ask("PATCH", CLUSTER, more)
    assert (code, found["spec"]["workerGroupSpecs"][0]["replicas"]) == (200, 2)
    assert int(found["metadata"]["resourceVersion"]) > int(before)
    fewer = [
        {"op": "replace", "path": f"{at}/replicas", "value": 1},
        {"op": "replace", "path": f"{at}/scaleStrategy", "value": {"workersToDelete": ["p"]}},
    ]
    assert client.ask("PATCH", CLUSTER, fewer)[0] == 200
    assert asked == [Replicas("gpu", 0, 2, []), Replicas("gpu", 2, 1, ["p"])]
    assert client.ask("PATCH", CLUSTER, {"spec": {"suspend": True}}, MERGE_PATCH)[1]["spec"]["suspend"] is True


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ([{"op": "replace", "path": "/spec/nothing", "value": 1}], 422),
        ({"op": "replace"}, 422),
        (b"no JSON", 400),
    ],
    ids=["missing field", "no list", "no JSON"],
)
def test_a_patch_that_does_not_fit_changes_nothing(client: Client, body: Any, code: int) -> None:
    before = client.ask("GET", CLUSTER)[1]
    assert client.ask("PATCH", CLUSTER, body)[0] == code
    assert client.ask("GET", CLUSTER)[1] == before


def test_a_patch_that_is_too_large_is_not_read(client: Client) -> None:
    assert client.ask("PATCH", CLUSTER, **{"Content-Length": str(2 << 20)})[0] == 413


def test_pods_are_listed_by_their_labels_with_the_states_that_ray_reads(client: Client, cluster: PlayedCluster) -> None:
    head, waiting, starting, running, leaving = [cluster.add_pod(group) for group in (HEAD_GROUP, *["gpu"] * 4)]
    cluster.move(head, PodState.RUNNING)
    cluster.move(starting, PodState.STARTING)
    cluster.move(running, PodState.RUNNING)
    cluster.move(leaving, PodState.LEAVING)
    code, found = client.ask("GET", f"{PODS}?labelSelector=ray.io/cluster%3Dc")
    assert (code, len(found["items"])) == (200, 5)
    assert int(found["metadata"]["resourceVersion"]) > 0
    pods = {pod["metadata"]["name"]: pod for pod in found["items"]}
    kinds = {name: pod["metadata"]["labels"]["ray.io/node-type"] for name, pod in pods.items()}
    assert kinds.pop("c-head") == "head" and set(kinds.values()) == {"worker"}
    states = {
        name: [*each["state"]] for name, pod in pods.items() for each in pod["status"].get("containerStatuses", [])
    }
    assert waiting.name not in states
    assert states[starting.name] == ["waiting"] and states[running.name] == states["c-head"] == ["running"]
    assert [name for name, pod in pods.items() if "deletionTimestamp" in pod["metadata"]] == [leaving.name]
    assert len({pod.ip for pod in cluster.current_pods()}) == 5, "each pod has its own address"
    assert client.ask("GET", f"{PODS}?labelSelector=ray.io/cluster%3Dother")[1]["items"] == []
    assert client.ask("GET", f"{PODS}/c-head")[1]["metadata"]["name"] == "c-head"


@pytest.mark.parametrize("path", ["/", f"{PODS}/missing", "/apis/ray.io/v1/namespaces/default/rayclusters/other"])
def test_what_is_not_there_is_not_found(client: Client, path: str) -> None:
    code, status = client.ask("GET", path)
    assert (code, status["kind"], status["code"]) == (404, "Status", 404)
    assert client.ask("PATCH", path, [])[0] == 404


def test_who_shows_no_certificate_is_refused_and_disturbs_nobody(client: Client, certificate: Certificate) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        Client(client.port, certificate, shows=False).ask("GET", CLUSTER)
    silent = http.client.HTTPConnection("127.0.0.1", client.port)
    silent.connect()  # it never shakes hands
    assert client.ask("GET", CLUSTER)[0] == 200
    silent.close()


def test_a_machine_without_openssl_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="apt-get install openssl"):
        make_certificate(tmp_path)

"""The part of Kubernetes' API that Ray's autoscaler speaks, on this machine only.

The autoscaler reads the RayCluster and changes it, and lists its pods. Ray takes an API server by HTTPS only, so each
rehearsal has a certificate; whoever does not show it is refused, since a PATCH starts processes.
"""

from __future__ import annotations

import http.server
import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from nbaccel.machines.kuberay.rehearsal.played_cluster import PlayedCluster, Unpatchable

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

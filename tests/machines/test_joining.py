"""Before a machine joins a cluster, a terminal says in words whether it could: port, token, Ray, Python."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nbaccel import cli, ray_preflight
from nbaccel.ray_preflight import RayVersions, mismatch

ROOT = Path(__file__).parent.parent.parent
HERE = RayVersions("2.60.0", "3.11.7")

# In a process of its own: Ray reads the token once. The server answers the two questions as the head of a cluster does.
PROGRAM = """
import json, os, platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import grpc, ray
from click.testing import CliRunner
from ray.core.generated import gcs_service_pb2 as messages
from nbaccel import cli, ray_preflight
from nbaccel.ray_engine import starting

ray_preflight._ANSWER_TIMEOUT_S = 60.0  # the head is this process, on a busy machine
RIGHT = "ab" * 32
known = {"ray_version": ray.__version__, "python_version": platform.python_version()}

class Head(grpc.GenericRpcHandler):
    def service(self, call):
        shown = dict(call.invocation_metadata).get("authorization")
        name = call.method.rpartition("/")[2]
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self.answer(shown, name, context))

    def answer(self, shown, name, context):
        if shown != f"Bearer {RIGHT}":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken: it is missing or incorrect")
        if name == "GetClusterId":
            return messages.GetClusterIdReply(cluster_id=b"c" * 28).SerializeToString()
        if name == "InternalKVGet":
            return messages.InternalKVGetReply(value=json.dumps(known).encode()).SerializeToString()
        context.abort(grpc.StatusCode.UNIMPLEMENTED, name)

server = grpc.server(ThreadPoolExecutor(2), handlers=[Head()])
address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
server.start()

def ask(*more):
    done = CliRunner().invoke(cli.main, ["doctor", "--address", address, *more])
    print(done.exit_code, " ".join(done.output.split()))

def join():
    try:
        starting.show_token(address)
        print("let in")
    except ConnectionError as error:
        print(error)

ask()
ray_preflight.write_token(ray_preflight.usual_file(), "cd" * 32)
ask()
named = Path.home() / "named"
ray_preflight.write_token(named, "cd" * 32)
ask("--token-file", str(named))
os.environ["RAY_AUTH_TOKEN"] = "cd" * 32
ask()
del os.environ["RAY_AUTH_TOKEN"], os.environ["RAY_AUTH_TOKEN_PATH"]
ray_preflight.write_token(ray_preflight.usual_file(), RIGHT)
ask()
join()
known["python_version"] = "3.99.1"
ask()
join()
known["ray_version"] = "2.59.0"
known["python_version"] = platform.python_version()
ask()
known.clear()
ask()
"""


@pytest.mark.ray
def test_the_port_the_token_and_the_versions_of_a_cluster_are_told(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    missing, other, named, variable, right, joined, python, not_joined, ray, silent = done.stdout.splitlines()
    assert missing.startswith("1 127.0.0.1 answers on port") and "No token is shown" in missing
    usual = tmp_path / ".ray" / "auth_token"
    for refused, why in (
        (missing, f"this machine has none ({usual} is missing)"),
        (other, f"the one in {usual} is not its"),
        (named, f"the one in {tmp_path / 'named'} is not its"),
        (variable, "the one of RAY_AUTH_TOKEN is not its"),
    ):
        assert f"asks for a token and {why}" in refused and "scp head:~/.ray/auth_token" in refused
    assert right.startswith("0 ") and "this machine can join it" in right
    assert joined == "let in"
    assert python.startswith("1 ") and "Ray needs the same Python: use Python 3.99.1 here" in python
    assert "Ray needs the same Python" in not_joined
    assert ray.startswith("1 ") and "pip install 'ray[client]==2.59.0'" in ray
    assert silent.startswith("1 ") and "not as the head of a Ray cluster does" in silent


@pytest.mark.parametrize("python", ["3.11.7", "3.11.9"])
def test_a_last_number_of_python_counts_unless_ray_is_told_otherwise(
    python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL", raising=False)
    assert bool(mismatch(RayVersions("2.60.0", python), HERE)) == (python != HERE.python)
    monkeypatch.setenv("RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL", "minor")
    assert mismatch(RayVersions("2.60.0", python), HERE) == ""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, arguments)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    return tmp_path


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port that is bound and at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_a_port_at_which_nobody_listens_is_told_at_once(dead_port: int) -> None:
    done = run("doctor", "--address", f"127.0.0.1:{dead_port}")
    assert done.exit_code == 1
    assert f"Nothing answers at 127.0.0.1:{dead_port} (Connection refused)" in done.output


@pytest.mark.parametrize("address", ["here", "host:port", "host:99999", "http://host:1", ":6379"])
def test_what_is_no_address_is_refused_in_words(address: str) -> None:
    done = run("doctor", "--address", address)
    assert done.exit_code == 1
    assert "write HOST:6379 or ray://HOST:10001" in done.output


def test_a_token_is_made_once_and_printed_only_when_asked_for(home: Path) -> None:
    file = home / ".ray" / "auth_token"
    assert "nbaccel token --generate" in run("token").output
    made = run("token", "--generate")
    content = ray_preflight.read_token(file)
    assert made.exit_code == 0 and content not in made.output
    assert "stays" in run("token", "--generate").output
    assert ray_preflight.read_token(file) == content
    assert content not in run("token").output
    assert run("token", "--path").output == f"{file}\n"
    assert run("token", "--show").output == f"{content}\n"


def test_a_token_that_others_may_read_is_refused_with_the_line_to_type(home: Path) -> None:
    run("token", "--generate")
    (home / ".ray" / "auth_token").chmod(0o644)
    done = run("token")
    assert done.exit_code == 1
    assert f"chmod 600 {home}/.ray/auth_token" in done.output

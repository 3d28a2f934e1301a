"""A notebook gets the token and a tunnel from kubectl, and what kubectl refuses becomes a sentence.

A small program plays kubectl: it writes down how it was called, and answers with the files of the test.
"""

# ruff: noqa: E501 -- a row of a table is a line

from __future__ import annotations

import base64
import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nbaccel import cli
from nbaccel.machines.kuberay.connecting import Kubectl, KubectlError, Tunnel, connect, versions_differ
from tests.rig import is_alive

ROOT = Path(__file__).parent.parent.parent.parent
TOKEN = "ab" * 32
# Each call of `get KIND` prints the file KIND, or fails with the words of KIND.error. Each call of `port-forward` runs
# the next of the shell scripts forward.1, forward.2, …
PROGRAM = """#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >> calls
if [ "$1" = get ]; then
    if [ -f "$2.error" ]; then cat "$2.error" >&2; exit 1; fi
    cat "$2"
else
    number=$(grep -c port-forward calls)
    echo $$ >> pids
    . ./forward.$number
fi
"""
OPEN = 'echo "Forwarding from 127.0.0.1:45678 -> 10001"\n'
STAYS = OPEN + "exec sleep 600\n"
LOST = OPEN + 'echo "error: lost connection to pod" >&2\nexit 1\n'


class FakeKubectl:
    """The folder of a program called kubectl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("kubectl", PROGRAM)
        (folder / "kubectl").chmod(0o755)
        self.answer("rayclusters.ray.io", {"spec": {"authOptions": {"mode": "token"}}})
        self.answer("secret", {"data": {"auth_token": base64.b64encode(TOKEN.encode()).decode()}})

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def answer(self, kind: str, document: object) -> None:
        self.write(kind, json.dumps(document))

    def forwards(self, *scripts: str) -> None:
        for number, script in enumerate(scripts, 1):
            self.write(f"forward.{number}", script)

    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()

    def pids(self) -> list[int]:
        return [int(line) for line in (self.folder / "pids").read_text().split()]


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    return FakeKubectl(folder)


def kept(kubectl: FakeKubectl, *, until: str) -> tuple[list[str], list[float]]:
    """What a tunnel tells until these words come, as if Ctrl-C were pressed then; and how long it paused."""
    told: list[str] = []
    pauses: list[float] = []

    def say(text: str) -> None:
        told.append(text)
        if until in text:
            raise KeyboardInterrupt

    tunnel = Tunnel(Kubectl(str(kubectl.folder / "kubectl")), "c-head-svc", 10001, say=say, pause=pauses.append)
    with pytest.raises(KeyboardInterrupt):
        tunnel.keep(lambda port: say(f"open on {port}"))
    return told, pauses


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["kuberay", "connect", "c", *arguments])


def joined(fake: FakeKubectl, *, port: int = 0, **where: str) -> str:
    """What a user is told until the line to type has come, as if Ctrl-C were pressed then."""
    told: list[str] = []

    def say(text: str) -> None:
        told.append(text)
        if "join it" in text:
            raise KeyboardInterrupt

    kubectl = Kubectl(str(fake.folder / "kubectl"), **where)
    with pytest.raises(KeyboardInterrupt):
        connect(kubectl, "c", None, Tunnel(kubectl, "", 10001, port, say=say), say)
    return "\n".join(told)


def test_the_line_to_type_names_the_port_and_the_file_of_the_token(kubectl: FakeKubectl, tmp_path: Path) -> None:
    kubectl.forwards(STAYS)
    told = joined(kubectl, namespace="ml", context="here")
    assert "%accel_init address=ray://127.0.0.1:45678 token_file=~/.ray/c.token" in told
    file = tmp_path / ".ray" / "c.token"
    assert file.read_text() == TOKEN
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert TOKEN not in told
    where = " --context here --namespace ml"
    assert kubectl.calls() == [
        f"get rayclusters.ray.io c -o json{where}",
        f"get secret c -o json{where}",
        f"port-forward --address 127.0.0.1 service/c-head-svc :10001{where}",
    ]


def test_the_command_closes_its_tunnel_when_it_is_ended(kubectl: FakeKubectl) -> None:
    kubectl.forwards(STAYS)
    command = [sys.executable, "-m", "nbaccel", "kuberay", "connect", "c"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any("join it" in line for line in process.stdout)
        process.terminate()
        assert process.stdout.read() == "The tunnel is closed.\n"
    assert process.returncode == 0
    assert not is_alive(kubectl.pids()[0]), "kubectl ends with the command"


def test_a_cluster_without_a_token_and_another_service_are_joined_as_they_are(kubectl: FakeKubectl) -> None:
    kubectl.answer("rayclusters.ray.io", {"spec": {}, "status": {"head": {"serviceName": "other-svc"}}})
    kubectl.forwards(STAYS)
    assert joined(kubectl, port=45678).endswith("%accel_init address=ray://127.0.0.1:45678")
    assert kubectl.calls()[-1] == "port-forward --address 127.0.0.1 service/other-svc 45678:10001"
    assert not any("secret" in call for call in kubectl.calls())


def test_a_lost_tunnel_is_opened_again_on_the_same_port(kubectl: FakeKubectl) -> None:
    kubectl.forwards(LOST, "exit 1\n", "exit 1\n", LOST, STAYS)
    told, pauses = kept(kubectl, until="is open again")
    assert told == [
        "open on 45678",
        "The tunnel has ended (error: lost connection to pod); it is opened again.",
        "The tunnel on 127.0.0.1:45678 is open again.",
    ], "the attempts that failed in between are not told"
    assert pauses == [0.5, 1.0, 2.0]
    assert {call.split()[-1] for call in kubectl.calls()[1:]} == {"45678:10001"}
    assert not any(is_alive(pid) for pid in kubectl.pids())


@pytest.mark.parametrize(
    ("kind", "stderr", "words"),
    [
        ("rayclusters.ray.io", "error: You must be logged in to the server (Unauthorized)", "Log in again"),
        ("rayclusters.ray.io", "Unable to connect to the server: getting credentials: exec: executable x failed", "Log in again"),
        ("rayclusters.ray.io", 'Error from server (Forbidden): rayclusters "c" is forbidden: User "u" cannot get', "Your login may not do this with rayclusters.ray.io c"),
        ("rayclusters.ray.io", 'Error from server (NotFound): rayclusters.ray.io "c" not found', "There is no rayclusters.ray.io c in the namespace"),
        ("rayclusters.ray.io", 'error: the server doesn\'t have a resource type "rayclusters"', "KubeRay's operator is not installed"),
        ("rayclusters.ray.io", "The connection to the server localhost:8080 was refused", "is kubectl's context the right one"),
        ("rayclusters.ray.io", "Unable to connect to the server: dial tcp: i/o timeout", "Kubernetes cannot be reached"),
        ("rayclusters.ray.io", "something else", "kubectl failed for rayclusters.ray.io c: something else"),
        ("secret", 'Error from server (Forbidden): secrets "c" is forbidden', "Your login may not do this with secret c"),
        ("secret", 'Error from server (NotFound): secrets "c" not found', "its Secret c is not there"),
    ],
)  # fmt: skip
def test_what_kubectl_refuses_is_a_sentence(kubectl: FakeKubectl, kind: str, stderr: str, words: str) -> None:
    kubectl.write(f"{kind}.error", stderr)
    done = run()
    assert done.exit_code == 1
    assert words in done.output
    assert "Traceback" not in done.output


def test_a_tunnel_that_never_opens_is_told_and_not_tried_for_ever(kubectl: FakeKubectl) -> None:
    kubectl.forwards(
        'echo "error: unable to forward port because pod is not running. Current status=Pending" >&2; exit 1'
    )
    done = run()
    assert done.exit_code == 1
    assert "kubectl failed for service c-head-svc: error: unable to forward port" in done.output


@pytest.mark.parametrize("data", [{}, {"auth_token": "%%%"}, {"auth_token": ""}, None])
def test_a_secret_without_a_token_is_told(kubectl: FakeKubectl, data: object) -> None:
    kubectl.answer("secret", {"data": data})
    done = run()
    assert done.exit_code == 1
    assert "The Secret c has no readable auth_token" in done.output


def test_words_that_are_no_json_are_told(kubectl: FakeKubectl) -> None:
    kubectl.write("rayclusters.ray.io", "hello")
    with pytest.raises(KubectlError, match="has printed no JSON: 'hello'"):
        Kubectl(str(kubectl.folder / "kubectl")).get("rayclusters.ray.io", "c")


def test_a_machine_without_kubectl_is_told_where_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run()
    assert done.exit_code == 1
    assert "kubectl is not on the PATH" in done.output


def test_a_cluster_with_another_ray_is_told_before_joining_fails() -> None:
    assert versions_differ("2.60.0", "2.60.0") == versions_differ(None, "2.60.0") == versions_differ("2.60.0", "") == ""
    assert "pip install 'ray[client]==2.59.0'" in versions_differ("2.59.0", "2.60.0")

"""Through Ray Client: a notebook outside of the cluster, which needs gRPC on both sides."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from nbaccel.light_imports import lighter_imports
from tests.ports import free_ports

pytest.importorskip("ray")
pytest.importorskip("grpc", reason="Ray Client needs grpcio: pip install 'ray[client]'")

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(900)]
START_S = 90
PROGRAM = """
import sys, nbaccel
from nbaccel import exceptions
from nbaccel.util import state
nbaccel.init(address=sys.argv[1], log_to_driver=False)

@nbaccel.remote
def add(left, right):
    return left + right

@nbaccel.remote
def total(refs):
    return sum(nbaccel.get(refs))

@nbaccel.remote
def fails():
    raise ValueError("no")

@nbaccel.remote
def numbers():
    yield 1

@nbaccel.remote
class Counter:
    def __init__(self):
        self.count = 0

    def add(self):
        self.count += 1
        return self.count

assert nbaccel.get(add.remote(1, nbaccel.put(2))) == 3
assert nbaccel.get(total.remote([nbaccel.put(1), add.remote(1, 1)])) == 3
try:
    nbaccel.get(fails.remote())
except ValueError as error:
    assert isinstance(error, exceptions.RayTaskError)
counter = Counter.options(name="counter").remote()
assert nbaccel.get([counter.add.remote() for _ in range(3)]) == [1, 2, 3]
assert nbaccel.get(nbaccel.get_actor("counter").add.remote()) == 4
try:
    numbers.remote()
except exceptions.EngineError as error:
    print(error)
held = add.remote(1, 1)
assert nbaccel.get(held) == 2
assert "add" in {row.name for row in nbaccel.snapshot().tasks}
assert held.hex() in {row.object_id for row in state.list_objects(limit=10_000)}
nbaccel.shutdown()
print("all of it")
"""


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            time.sleep(0.2)
    return False


@pytest.fixture
def client_port():
    """The port of Ray Client's server of a cluster of one node; Ray's own start may be too slow on a busy machine."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for _ in range(3):
        ports = free_ports(2)
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus=2"]
        command += [f"--port={ports[0]}", f"--ray-client-server-port={ports[1]}"]
        command += ["--include-dashboard=false", "--dashboard-agent-listen-port=0"]
        with lighter_imports():
            process = subprocess.Popen(command, start_new_session=True, **quiet)
        try:
            if _listens(ports[1], process):
                yield ports[1]
                return
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    pytest.skip("Ray's processes did not start in time on this machine")


def test_a_program_runs_through_ray_client(client_port):
    environ = {**os.environ, "RAY_AUTH_MODE": "token"}
    command = [sys.executable, "-c", PROGRAM, f"ray://127.0.0.1:{client_port}"]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "all of it"
    assert "streams its results" in done.stdout

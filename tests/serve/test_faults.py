"""Bad days: replicas that die, block or fail their checks, a door that is killed, drivers that end."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import serve
from nbaccel.serve import callers
from nbaccel.serve.exceptions import ReplicaUnavailableError
from nbaccel.views.served_snapshot import of_snapshot
from tests.census import Place
from tests.ports import free_port
from tests.rig import Gate, is_alive, wait_until
from tests.serve.conftest import Answer, ask, connection
from tests.serve.load import load

Door = Callable[..., Answer]


def replicas(name: str = "default") -> list[dict[str, Any]]:
    """The rows of those that serve."""
    apps = serve.status().applications
    rows = [row for each in apps[name].deployments.values() for row in each.replicas] if name in apps else []
    return [row for row in rows if row["state"] == "RUNNING"]


@serve.deployment(ray_actor_options={"num_gpus": 0.5})
class Model:
    def __init__(self, gate: Any = None) -> None:
        self.gate = gate
        self.healthy = True

    async def __call__(self, request: Any) -> str:
        if request.url.path == "/wait":
            await self.gate.wait.remote()
        if request.url.path == "/die":
            os.kill(os.getpid(), signal.SIGKILL)
        if request.url.path == "/block":
            time.sleep(float(request.query_params["seconds"]))
        return "ok"

    def wait(self) -> str:
        nbaccel.get(self.gate.wait.remote())
        return "done"

    def pid(self) -> int:
        return os.getpid()


def test_no_idempotent_request_is_lost_when_replicas_are_killed(door: Door) -> None:
    serve.run(Model.options(num_replicas=2).bind())
    with load() as asking:
        for _ in range(3):
            wait_until(lambda: len(replicas()) == 2, "both replicas")
            asking.more()
            os.kill(replicas()[0]["pid"], signal.SIGKILL)
            asking.more()
        asking.end()
    assert asking.wrong == []


def test_requests_wait_for_the_successor_of_the_only_replica(door: Door) -> None:
    serve.run(Model.options(ray_actor_options={"num_gpus": 2}).bind())
    with load() as asking:
        asking.more()
        os.kill(replicas()[0]["pid"], signal.SIGKILL)
        asking.more()
        asking.end()
    assert asking.wrong == []


def test_a_post_whose_replica_dies_is_a_503_with_the_reason(door: Door) -> None:
    serve.run(Model.bind())
    answer = door("/die", "POST")
    assert answer.status == 503
    assert answer.headers["retry-after"] == "1"
    assert "had been sent and may have run" in answer.json["error"]
    assert "SIGKILL" in answer.json["error"]
    assert door().text == "ok"


def test_a_post_with_an_idempotency_key_or_retry_on_death_goes_to_another_replica(door: Door) -> None:
    for options, headers in (({}, {"Idempotency_Key": "1"}), ({"retry_on_death": True}, {})):
        gate = Gate.remote()
        serve.run(Model.options(num_replicas=2, **options).bind(gate))
        wait_until(lambda: len(replicas()) == 2, "both replicas")
        answers: list[Answer] = []
        thread = threading.Thread(
            target=lambda headers=headers, answers=answers: answers.append(door("/wait", "POST", **headers))
        )
        thread.start()
        wait_until(lambda gate=gate: nbaccel.get(gate.arrived.remote()) == 1, "the request")
        os.kill(next(row["pid"] for row in replicas() if row["ongoing"]), signal.SIGKILL)
        wait_until(lambda gate=gate: nbaccel.get(gate.arrived.remote()) == 2, "the second attempt")
        nbaccel.get(gate.open.remote())
        thread.join()
        assert answers[0].status == 200


def test_a_request_that_kills_each_replica_it_meets_ends_after_three(door: Door) -> None:
    serve.run(Model.options(num_replicas=2).bind())
    answer = door("/die", x_request_id="poison")
    assert answer.status == 500
    assert "3 replicas" in answer.json["error"] and answer.json["request_id"] == "poison"
    assert door().text == "ok"


def test_a_handle_call_whose_replica_dies_raises(door: Door) -> None:
    gate = Gate.remote()
    handle = serve.run(Model.bind(gate), route_prefix=None)
    response = handle.wait.remote()
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 1, "the call")
    os.kill(handle.pid.remote().result(), signal.SIGKILL)
    with pytest.raises(ReplicaUnavailableError, match="may have run"):
        response.result()
    assert handle.pid.remote().result()


def test_a_stream_whose_replica_dies_is_cut_for_its_reader(door: Door) -> None:
    @serve.deployment
    def stream(request: Any) -> Any:
        yield str(os.getpid())
        while True:
            yield "."

    serve.run(stream.bind())
    client = connection()
    client.request("GET", "/")
    response = client.getresponse()
    pid = int(response.read(1) + response.read1(20).partition(b".")[0])
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(Exception, match="IncompleteRead"):
        response.read()
    client.close()


def test_a_client_that_leaves_cancels_async_code_and_closes_streams(door: Door) -> None:
    gate = Gate.remote()

    @serve.deployment
    class Left:
        def __init__(self) -> None:
            self.seen: list[str] = []

        async def __call__(self, request: Any) -> Any:
            if request.url.path == "/stream":
                return self.items()
            try:
                await gate.wait.remote()
            except BaseException as error:
                self.seen.append(type(error).__name__)
                raise

        async def items(self) -> Any:
            try:
                while True:
                    yield "x" * 1000
            finally:
                self.seen.append("closed")

        async def all(self) -> list[str]:
            return self.seen

    handle = serve.run(Left.bind())
    client = connection()
    client.request("GET", "/")
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 1, "the request")
    client.close()
    wait_until(lambda: handle.all.remote().result() == ["CancelledError"], "the cancellation")


def test_a_blocked_loop_gets_no_more_requests_until_it_turns(door: Door) -> None:
    serve.run(Model.options(num_replicas=2, health_check_period_s=0.05, health_check_timeout_s=0.2).bind())
    wait_until(lambda: len(replicas()) == 2, "both replicas")
    thread = threading.Thread(target=lambda: door("/block?seconds=3"))
    thread.start()

    def blocked() -> dict[str, Any] | None:
        return next((row for row in replicas() if row["blocked"]), None)

    row = wait_until(blocked, "the blocked replica")
    assert "time.sleep" in row["blocked"] or "__call__" in row["blocked"]
    status = serve.status().applications["default"]
    assert status.status == "UNHEALTHY"
    assert "asyncio.to_thread" in status.deployments["Model"].message
    assert [door().text for _ in range(10)] == ["ok"] * 10
    thread.join()
    wait_until(lambda: blocked() is None, "the loop to turn")
    assert is_alive(row["pid"])


def test_a_replica_that_fails_its_checks_is_replaced(door: Door) -> None:
    @serve.deployment(health_check_period_s=0.05)
    class Sick:
        def __init__(self) -> None:
            self.well = True

        def __call__(self, request: Any) -> str:
            self.well = request.url.path != "/ill"
            return "ok"

        def check_health(self) -> None:
            if not self.well:
                raise RuntimeError("the model is gone")

    serve.run(Sick.bind())
    first = replicas()[0]["pid"]
    door("/ill")
    wait_until(lambda: [each["pid"] for each in replicas()[:1]] not in ([], [first]), "the successor")
    error = serve.status().applications["default"].deployments["Sick"].last_error
    assert error["message"] == "the model is gone"
    assert door().text == "ok"


def test_what_is_under_way_is_finished_before_a_replica_ends(door: Door) -> None:
    gate = Gate.remote()
    serve.run(Model.bind(gate))
    answers: list[Answer] = []
    asking = threading.Thread(target=lambda: answers.append(door("/wait")))
    asking.start()
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 1, "the request")
    deleting = threading.Thread(target=lambda: serve.delete("default"))
    deleting.start()
    wait_until(lambda: serve.status().applications["default"].status == "DELETING", "the end to begin")
    assert door().status in (404, 503)
    nbaccel.get(gate.open.remote())
    asking.join()
    deleting.join()
    assert answers[0].text == "ok"
    assert serve.status().applications == {}


def test_a_stream_ends_within_its_grace_at_delete(door: Door) -> None:
    @serve.deployment(graceful_shutdown_timeout_s=0.05)
    async def endless(request: Any) -> Any:
        import asyncio

        yield "begun"
        await asyncio.Event().wait()

    serve.run(endless.bind())
    client = connection()
    client.request("GET", "/")
    response = client.getresponse()
    assert response.read1(10) == b"begun"
    serve.delete("default")
    with pytest.raises(Exception, match="IncompleteRead"):
        response.read()
    client.close()


def test_a_killed_door_has_a_successor_on_the_same_port_with_the_same_applications(door: Door) -> None:
    from nbaccel.serve import serving

    serve.start(http_options={"port": free_port()})  # doors of other heads take the usual ones
    handle = serve.run(Model.bind())
    url = serve.status().url
    os.kill(serving._ask("status")["pid"], signal.SIGKILL)

    def answers() -> bool:
        try:
            return urllib.request.urlopen(f"{url}/", timeout=60).read() == b"ok"
        except OSError:
            return False

    wait_until(answers, "the successor's answer")
    assert serve.status().url == url
    assert handle.pid.remote().result()
    sockets = [name for name in os.listdir(callers.folder()) if name.startswith("Model-")]
    assert len(sockets) == 1, "the one of the replica that serves"
    serve.start(http_options={})


def test_a_killed_door_whose_port_somebody_takes_has_a_successor_on_another(door: Door) -> None:
    from nbaccel.serve import serving

    serve.start(http_options={"port": free_port()})
    serve.run(Model.bind())
    facts = serving._ask("status")
    with socket.socket() as taker:
        taker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        os.kill(facts["pid"], signal.SIGKILL)
        while True:
            try:
                taker.bind(("127.0.0.1", facts["port"]))
                break
            except OSError:  # the door has not gone yet
                pass
        taker.listen()

        def answers() -> bool:
            try:
                return door().text == "ok"
            except (OSError, serve.exceptions.RayServeException):
                return False

        wait_until(answers, "the successor's answer")
        url = f"{serve.status().url}/"
        assert str(facts["port"]) not in url
    # What views show follows.
    wait_until(lambda: [each.url for each in of_snapshot(engines.current().snapshot())] == [url], "the new address")
    serve.start(http_options={})


# ---- drivers

PROGRAM = """
import os, signal, sys, time
import nbaccel
from nbaccel import serve

nbaccel.init(num_cpus=1, num_gpus=1)

@serve.deployment(ray_actor_options={"num_gpus": 0.5})
def hello(request):
    return "hello"

serve.run(hello.bind(), port=PORT)
print("up", flush=True)
sys.stdin.readline()
END
"""


@pytest.mark.parametrize(
    "end",
    ["os.kill(os.getpid(), signal.SIGKILL)", "", "serve.shutdown(); print('down', flush=True); sys.stdin.readline()"],
)
def test_nothing_is_left_of_a_driver_however_it_ends(place: Place, end: str) -> None:
    port = free_port()
    program = place.start(PROGRAM.replace("PORT", str(port)).replace("END", end))
    assert program.stdout is not None and program.stdin is not None
    assert program.stdout.readline() == "up\n"
    assert urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read() == b"hello"
    program.stdin.write("\n")
    program.stdin.flush()
    if "shutdown" in end:
        assert program.stdout.readline() == "down\n"
        assert not list(Path(place.root).rglob("serve-*/*"))
        program.stdin.write("\n")
    program.communicate(timeout=60)
    place.assert_nothing_left()
    assert not list(Path(place.root).rglob("serve-*"))

    def is_free() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) != 0

    wait_until(is_free, "the port")


def test_a_kernel_stuck_in_c_does_not_stop_the_door(place: Place) -> None:
    port = free_port()
    stuck = PROGRAM.replace("PORT", str(port)).replace(
        "sys.stdin.readline()\n", "import ctypes; ctypes.PyDLL(None).sleep(2)\n"
    )
    program = place.start(stuck.replace("END", ""))
    assert program.stdout is not None
    assert program.stdout.readline() == "up\n"
    for _ in range(20):
        assert urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read() == b"hello"
    assert program.poll() is None
    program.communicate(timeout=60)


def test_two_drivers_serve_one_name_at_two_ports(place: Place) -> None:
    programs = [
        place.start(PROGRAM.replace("PORT", "None").replace("END", "print(serve.status().url)")) for _ in range(2)
    ]
    try:
        for program in programs:
            assert program.stdout is not None
            assert program.stdout.readline() == "up\n"
    finally:
        urls = {program.communicate("\n", timeout=60)[0].strip() for program in programs}
    assert len(urls) == 2


def test_a_port_that_is_taken_is_an_error_that_names_it(place: Place, door: Door) -> None:
    taken = serve.status().url.rpartition(":")[2] if serve.status().url else ""
    serve.run(Model.bind())
    taken = serve.status().url.rpartition(":")[2]
    done = place.run(PROGRAM.replace("PORT", taken).replace("END", ""))
    assert done.returncode != 0
    assert f"The port {taken} of 127.0.0.1 cannot be had" in done.stderr
    assert ask().text == "ok"


def test_the_doors_queue_has_a_limit_and_a_full_one_is_a_503(door: Door) -> None:
    from nbaccel.serve import serving

    def facts() -> dict[str, Any]:
        return serving._ask("status")["apps"]["default"]  # type: ignore[no-any-return]

    gate = Gate.remote()
    serve.run(Model.bind(gate))
    assert facts()["deployments"]["Model"]["queue_limit"] == 1000
    serve.run(Model.options(max_ongoing_requests=1, max_queued_requests=1).bind(gate))
    assert facts()["deployments"]["Model"]["queue_limit"] == 1
    clients = [connection() for _ in range(3)]
    for client in clients:
        client.request("GET", "/wait")
    wait_until(lambda: facts()["counts"]["statuses"].get("503") == 1 and facts()["queued"] == 1, "one 503")
    nbaccel.get(gate.open.remote())
    answers = [client.getresponse() for client in clients]
    assert sorted(answer.status for answer in answers) == [200, 200, 503]
    refused = next(answer for answer in answers if answer.status == 503)
    assert refused.headers["retry-after"] == "1" and b"max_queued_requests is 1" in refused.read()
    for client in clients:
        client.close()


def test_what_a_killed_driver_left_in_a_session_goes_when_the_next_door_starts(tmp_path: Path) -> None:
    from nbaccel.serve.http_server import _sweep

    def made(name: str, *, age_s: float) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "door").touch()
        os.utime(folder, (time.time() - age_s,) * 2)
        return folder

    own, dead, fresh, alive = (made(f"serve-{n}", age_s=age) for n, age in ((1, 900), (2, 900), (3, 0), (4, 900)))
    other = made("logs", age_s=900)
    (alive / "door").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(alive / "door"))
        listener.listen()
        os.utime(alive, (time.time() - 900,) * 2)
        _sweep(str(own))
    assert [each.exists() for each in (own, dead, fresh, alive, other)] == [True, False, True, True, True]


def test_a_replica_all_of_whose_threads_are_lost_is_replaced(door: Door) -> None:
    gate = Gate.remote()

    @serve.deployment(max_ongoing_requests=2, health_check_period_s=0.05, graceful_shutdown_timeout_s=0.05)
    class Stuck:
        def __call__(self, request: Any) -> int:
            if request.url.path == "/stuck":
                nbaccel.get(gate.wait.remote())
            return os.getpid()

    serve.run(Stuck.bind())
    first = door("/").json
    for _ in range(2):
        assert door("/stuck", x_request_timeout_seconds="0.2").status == 408
    wait_until(lambda: door("/", x_request_timeout_seconds="30").json not in (first, None), "the successor")
    error = serve.status().applications["default"].deployments["Stuck"].last_error
    assert "All 2 threads" in error["message"]


def test_a_constructor_that_takes_long_is_shown_with_its_line(door: Door) -> None:
    gate = Gate.remote()

    class Slow:
        def __init__(self) -> None:
            nbaccel.get(gate.wait.remote())

        def __call__(self, request: Any) -> str:
            return "ok"

    thread = threading.Thread(target=lambda: serve.run(serve.deployment(Slow).bind()))
    thread.start()

    def shown() -> str:
        app = serve.status().applications.get("default")
        return app.deployments["Slow"].message if app is not None else ""

    wait_until(lambda: "in line" in shown(), "the line")
    assert "of __init__ (" in shown() and "constructor has been running for" in shown()
    nbaccel.get(gate.open.remote())
    thread.join()
    assert door("/").text == "ok"

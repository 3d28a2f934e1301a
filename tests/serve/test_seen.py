"""What viewers see of applications: one record for card, status, top, cockpit and metrics."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import serve
from nbaccel.notebook import publishing, served_card, view
from nbaccel.serve import callers, serving
from nbaccel.serve.serving import ShownApplications
from nbaccel.views import served_snapshot, tables, top
from nbaccel.views.served_snapshot import ServedSnapshot
from tests.census import Place
from tests.rig import wait_until

CASES = json.loads((Path(__file__).parents[2] / "frontend" / "tests" / "served.json").read_text())


def seen(name: str = "default") -> ServedSnapshot | None:
    found = served_snapshot.of_snapshot(engines.current().snapshot())
    return next((each for each in found if each.name == name), None)


def until(condition: Any, what: str) -> ServedSnapshot:
    wait_until(lambda: (now := seen()) is not None and condition(now), what)
    found = seen()
    assert found is not None
    return found


@serve.deployment(ray_actor_options={"num_gpus": 0.5})
class Half:
    def __call__(self, request: Any) -> str:
        if request.url.path == "/bad":
            raise ValueError("no weights")
        return "ok"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["record"]["name"])
def test_the_words_are_those_of_the_page(case: dict[str, Any]) -> None:
    served = msgspec.convert(case["record"], ServedSnapshot)
    assert served_snapshot.replica_words(served) == case["replicas"]
    assert served_snapshot.request_words(served) == case["requests"]
    assert [served_snapshot.deployment_words(each) for each in served.deployments] == case["deployments"]
    assert served_snapshot.curl_words(served) == case["curl"]


def test_every_view_has_an_application_from_one_record_without_its_token(door: Any) -> None:
    serve.run(Half.options(num_replicas=2).bind(), token=True)
    token = serve.token_of()
    assert token is not None
    first = until(lambda now: served_snapshot.replica_words(now) == "2 replicas", "two replicas")
    assert first.asks_token and first.url == f"{serve.status().url}/"
    assert {tuple(row.devices["GPU"]) for row in first.deployments[0].replicas} == {("0",)}
    assert door("/", authorization=f"Bearer {token}").status == 200
    assert door("/bad", authorization=f"Bearer {token}").status == 500
    last = until(lambda now: now.requests == 2 and now.deployments[0].error is not None, "the requests")
    assert (last.failed, last.statuses) == (1, {"200": 1, "500": 1})
    snapshot = engines.current().snapshot()
    shown = {
        "status": view.status_text(snapshot),
        "page": publishing.records_json(snapshot.published),
        "card": json.dumps(served_card.mimebundle(last, 0.0)),
        "table": tables.as_text(served_snapshot.table(snapshot)),
        "top": "\n".join(served_snapshot.lines(snapshot)),
    }
    for name, words in shown.items():
        assert ("default" in words and "2 replicas" in words) or name == "page", name
        assert token not in words, name
    assert "ValueError: no weights" in shown["card"] and "0.5 GPU on GPU 0, GPU 0" in shown["card"]
    assert '"socket"' not in shown["page"]
    assert any("default serving" in str(part) for part in top._head(snapshot, 100, 5, 0))


def test_stop_in_a_view_ends_the_application_and_its_record(door: Any) -> None:
    serve.run(Half.bind())
    record = until(lambda now: now.state == "serving", "it to serve")
    engines.current().ask(record.id, "stop 0")
    wait_until(lambda: seen() is None, "its record to go")
    assert "default" not in serve.status().applications
    shown = {each.name for each in nbaccel.util.state.list_tasks() if each.name.startswith("Half.")}
    assert shown <= {"Half.__init__"}, "what its end asks of a replica is no task of the user's"


def test_the_record_outlives_the_process_that_has_published_it(door: Any) -> None:
    @nbaccel.remote
    class Server:
        def serve(self) -> None:
            serve.run(Half.bind(), name="theirs", route_prefix=None)

    serve.run(Half.bind())
    server = Server.remote()
    nbaccel.get(server.serve.remote())
    wait_until(lambda: seen("theirs") is not None, "a record")
    nbaccel.kill(server)
    wait_until(
        lambda: not nbaccel.util.state.list_actors(filters=[("class_name", "=", "Server"), ("state", "=", "ALIVE")]),
        "its end",
    )
    wait_until(lambda: seen("theirs") is not None, "the record of another process")
    serve.delete("theirs")
    wait_until(lambda: seen("theirs") is None, "its end in the views")


def test_a_deployment_that_waits_says_what_it_waits_for_and_who_holds_it(door: Any) -> None:
    @nbaccel.remote(num_gpus=2)
    class Trial:
        def ready(self) -> bool:
            return True

    trial = Trial.options(name="trial_31").remote()
    nbaccel.get(trial.ready.remote())
    with pytest.raises(TimeoutError):
        _run_for(Half.bind(), 0.1)
    waiting = until(lambda now: "GPU" in now.deployments[0].message, "the reason")
    said = nbaccel.explain()
    nbaccel.kill(trial)
    wait_until(lambda: serve.status().applications["default"].status == "RUNNING", "it to serve")
    assert "Trial" in waiting.deployments[0].message and "0.5 GPU" in waiting.deployments[0].message
    assert any("Half" in str(each) and "Trial" in str(each) for each in said), said


def _run_for(target: Any, seconds: float) -> None:
    """Begin to serve it in another thread, and give up waiting."""
    from concurrent.futures import Future
    from threading import Thread

    done: Future[Any] = Future()
    Thread(target=lambda: done.set_result(serve.run(target)), daemon=True).start()
    done.result(timeout=seconds)


def test_a_batch_function_shows_its_mean_batch(door: Any) -> None:
    @serve.deployment(max_ongoing_requests=8, health_check_period_s=0.2)
    class Batched:
        @serve.batch(max_batch_size=4, batch_wait_timeout_s=30)
        async def double(self, items: list[int]) -> list[int]:
            return [2 * item for item in items]

        async def __call__(self, item: int) -> int:
            return await self.double(item)  # type: ignore[no-any-return]

    handle = serve.run(Batched.bind())
    assert [each.result() for each in [handle.remote(item) for item in range(8)]] == [2 * item for item in range(8)]
    last = until(lambda now: now.deployments[0].batch > 0, "its batches")
    assert (last.deployments[0].batch, last.deployments[0].batch_limit) == (4.0, 4)


BELOW_A_HUB = """
import nbaccel
from nbaccel import serve
from nbaccel.views import served_snapshot

@serve.deployment
def model(request):
    return "ok"

nbaccel.init(num_cpus=2)
serve.run(model.bind(), name="my app", route_prefix="/x")
[found] = served_snapshot.of_snapshot(nbaccel.engine.current().snapshot())
print(found.route)
print(served_snapshot.one_line(found))
nbaccel.shutdown()
"""


def test_below_a_jupyterhub_the_views_name_the_address_that_has_its_login(place: Place) -> None:
    """Any process of the cluster may publish the record, and the Hub starts them all."""
    done = place.run(BELOW_A_HUB, JUPYTERHUB_SERVICE_PREFIX="/user/ana/")
    assert done.returncode == 0, done.stderr
    route, line = done.stdout.splitlines()
    assert route == "/user/ana/nbaccel/serve/my%20app/" and route in line
    assert f"my app is served at {route} below the JupyterHub, and on its machine at http://127.0.0.1:" in done.stderr


def test_what_shows_applications_outlives_a_door_that_does_not_answer(tmp_path: Path) -> None:
    def ask() -> dict[str, Any]:
        raise serve.exceptions.RayServeException("The door of this session does not answer")

    shown = ShownApplications(str(tmp_path), ask, lambda name: lambda what: None)
    shown.look()
    shown.close()


def test_a_question_to_the_door_is_given_up_when_the_session_ends(tmp_path: Path) -> None:
    """The thread that shows applications asks all the time: also while the way to the door is being made."""
    ways = callers.Callers(str(tmp_path / "door"))
    ways.submit(ways._door_lock.acquire).result(30)

    def ask() -> None:
        callers.adopted.set(ways)
        serving._ask("status")

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask)
        wait_until(lambda: bool(ways._door_lock._waiters), "the question")
        ways.close()
        with pytest.raises(serve.exceptions.RayServeException):
            answer.result(30)

"""The same application once more: nothing, other limits, other code, and what fails."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

import nbaccel
from nbaccel import serve
from nbaccel.serve.exceptions import RayServeException
from tests.rig import Gate, wait_until
from tests.serve.conftest import Answer
from tests.serve.load import load

Door = Callable[..., Answer]

CELL = """
from nbaccel import serve
import os

FACTOR = 1

@serve.deployment(num_replicas=2)
class Model:
    def __init__(self, word):
        self.word = word

    def __call__(self, request):
        return [self.word, FACTOR]

    def pid(self):
        return os.getpid()

    def reconfigure(self, config):
        self.word = config["word"]
"""


def cell(source: str = CELL) -> Any:
    """The deployment that a cell of a notebook defines."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), scope)
    return scope["Model"]


def pids() -> set[int]:
    """The processes that serve."""
    found = serve.status().applications["default"].deployments["Model"].replicas
    return {row["pid"] for row in found if row["state"] == "RUNNING"}


def all_up() -> set[int]:
    return wait_until(lambda: pids() if len(pids()) == 2 else None, "two replicas")  # type: ignore[no-any-return]


def test_the_same_cell_again_changes_nothing(door: Door, capfd: pytest.CaptureFixture[str]) -> None:
    serve.run(cell().bind("a"))
    before = all_up()
    capfd.readouterr()
    serve.run(cell().bind("a"))
    serve.run(cell("\n# a comment, and other lines\n" + CELL).bind("a"))
    assert all_up() == before
    assert capfd.readouterr().err.count("default: nothing has changed.") == 2


def test_other_limits_config_and_numbers_keep_the_processes(door: Door) -> None:
    serve.run(cell().bind("a"))
    before = all_up()
    serve.run(cell().options(max_ongoing_requests=7).bind("a"))
    serve.run(cell().options(max_ongoing_requests=7, user_config={"word": "new"}).bind("a"))
    assert all_up() == before
    assert door().json == ["new", 1]
    serve.run(cell().options(num_replicas=1).bind("a"))
    wait_until(lambda: len(pids()) == 1 and pids() < before, "one replica of the same")


@pytest.mark.parametrize(
    ("source", "word", "answer"),
    [
        (CELL, "b", ["b", 1]),
        (CELL.replace("[self.word, FACTOR]", "[self.word, -FACTOR]"), "a", ["a", -1]),
        (CELL.replace("FACTOR = 1", "FACTOR = 5"), "a", ["a", 5]),
    ],
    ids=["value", "code", "global"],
)
def test_another_value_code_or_global_starts_new_replicas(door: Door, source: str, word: str, answer: Any) -> None:
    serve.run(cell().bind("a"))
    before = all_up()
    serve.run(cell(source).bind(word))
    assert door().json == answer  # at once: the old ones take no more requests
    assert not all_up() & before


def test_no_request_is_lost_while_versions_change(door: Door) -> None:
    serve.run(cell().bind("a"))
    with load() as asking:
        for word in ("b", "c", "d"):
            serve.run(cell().bind(word))
            wait_until(lambda: len(pids()) == 2, "all of the new version")
            asking.more()
        asking.end()
    assert asking.wrong == []
    assert {b'["a",1]', b'["d",1]'} <= asking.bodies


def test_where_both_versions_do_not_fit_the_old_one_goes_first_and_requests_wait(door: Door) -> None:
    whole = {"num_replicas": 1, "ray_actor_options": {"num_gpus": 2}}
    serve.run(cell().options(**whole).bind("a"))
    with load() as asking:
        asking.more()
        serve.run(cell().options(**whole).bind("b"))
        asking.more()
        asking.end()
    assert asking.wrong == []
    assert asking.bodies == {b'["a",1]', b'["b",1]'}


BROKEN = CELL.replace("self.word = word", 'raise ValueError(f"no weights for {word}")', 1)


def test_what_the_constructor_raises_is_raised_with_the_users_frames_and_the_old_version_serves_on(door: Door) -> None:
    serve.run(cell().bind("a"))
    before = all_up()
    with pytest.raises(ValueError, match="no weights for b") as caught:
        serve.run(cell(BROKEN).bind("b"))
    text = str(caught.value)
    assert "Model.__init__()" in text and "in __init__" in text and "nbaccel/serve" not in text
    assert door().json == ["a", 1]
    assert all_up() == before
    app = serve.status().applications["default"]
    assert app.status == "RUNNING" and "no weights for b" in app.message


def test_an_old_version_that_went_first_comes_back_when_the_new_one_fails(door: Door) -> None:
    whole = {"num_replicas": 1, "ray_actor_options": {"num_gpus": 2}}
    serve.run(cell().options(**whole).bind("a"))
    with pytest.raises(ValueError, match="no weights"):
        serve.run(cell(BROKEN).options(**whole).bind("b"))
    assert door().json == ["a", 1]


def test_a_first_version_that_fails_leaves_nothing_and_answers_503(door: Door) -> None:
    with pytest.raises(ValueError, match="no weights"):
        serve.run(cell(BROKEN).options(ray_actor_options={"num_gpus": 1}).bind("b"))
    app = serve.status().applications["default"]
    assert app.status == "DEPLOY_FAILED"
    answer = door()
    assert answer.status == 503 and "no weights" in answer.json["error"]
    wait_until(lambda: nbaccel.available_resources().get("GPU") == 2, "the devices")
    serve.run(cell().bind("a"))
    assert door().json == ["a", 1]


def test_a_config_that_reconfigure_refuses_leaves_the_old_one(door: Door) -> None:
    serve.run(cell().options(user_config={"word": "a"}).bind(""))
    with pytest.raises(KeyError, match="word"):
        serve.run(cell().options(user_config={}).bind(""))
    assert door().json == ["a", 1]


@serve.deployment
class Slow:
    """Its constructor waits at a gate."""

    def __init__(self, gate: Any) -> None:
        nbaccel.get(gate.wait.remote())

    def __call__(self, request: Any) -> str:
        return "slow"


def test_stop_while_a_constructor_hangs_undoes_the_run(door: Door) -> None:
    serve.run(cell().bind("a"))
    gate = Gate.remote()

    def press() -> None:
        wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 1, "the constructor")
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        serve.run(Slow.bind(gate))
    thread.join()
    wait_until(lambda: serve.status().applications["default"].status == "RUNNING", "the version before")
    assert door().json == ["a", 1]
    wait_until(lambda: set(serve.status().applications["default"].deployments) == {"Model"}, "the end of the other")


def test_a_blocking_run_ends_its_application_at_stop(door: Door) -> None:
    def press() -> None:
        wait_until(lambda: "default" in serve.status().applications, "the application")
        wait_until(lambda: serve.status().applications["default"].status == "RUNNING", "its first replica")
        assert door().json == ["a", 1]
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    serve.run(cell().bind("a"), blocking=True)
    thread.join()
    assert serve.status().applications == {}


def test_a_second_run_replaces_the_goal_of_the_first(door: Door) -> None:
    gate = Gate.remote()
    failed: list[BaseException] = []

    def first() -> None:
        try:
            serve.run(Slow.bind(gate))
        except RayServeException as error:
            failed.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 1, "the first constructor")
    serve.run(cell().bind("a"))
    thread.join()
    assert "Another serve.run" in str(failed[0])
    assert door().json == ["a", 1]
    wait_until(lambda: set(serve.status().applications["default"].deployments) == {"Model"}, "the end of the first")


def test_delete_while_it_deploys_ends_it(door: Door) -> None:
    gate = Gate.remote()
    failed: list[BaseException] = []

    def first() -> None:
        try:
            serve.run(Slow.bind(gate))
        except RayServeException as error:
            failed.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 1, "the constructor")
    serve.delete("default")
    thread.join()
    assert failed and serve.status().applications == {}


def test_two_applications_cannot_have_one_prefix(door: Door) -> None:
    serve.run(cell().bind("a"))
    with pytest.raises(RayServeException, match="belongs to the application default"):
        serve.run(cell().bind("b"), name="other")


def test_run_says_what_it_waits_for(door: Door, capfd: pytest.CaptureFixture[str]) -> None:
    holder = nbaccel.remote(Holder).options(num_gpus=2).remote()
    nbaccel.get(holder.here.remote())
    thread = threading.Thread(target=lambda: serve.run(cell().options(ray_actor_options={"num_gpus": 1}).bind("a")))
    thread.start()

    def waits() -> bool:
        app = serve.status().applications.get("default")
        return app is not None and "Holder" in app.deployments["Model"].message

    wait_until(waits, "the reason")
    nbaccel.kill(holder)
    thread.join()
    assert door().json == ["a", 1]


class Holder:
    def here(self) -> None:
        """It holds its devices."""

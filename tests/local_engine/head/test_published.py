"""Published records live with their publisher, and observers see them and may ask."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import nbaccel
from nbaccel import engine as engines
from nbaccel.local_engine import wire
from nbaccel.local_engine.wire.driver_questions import Publish
from nbaccel.views import observing
from tests.census import Place
from tests.local_engine.head.test_observers import raw_driver, record
from tests.rig import wait_until


def shown(observer: observing.Observer) -> dict[str, Any]:
    published = observer.ask({"ask": "snapshot"})["snapshot"].get("published", [])
    return {row["id"]: row["record"] for row in published}


@nbaccel.remote(num_cpus=0, max_restarts=0)
class Publisher:
    """Publishes, and then waits in its method, in user code, until it is asked to stop."""

    def run(self) -> str:
        asked = threading.Event()
        received: list[str] = []

        def notified(what: str) -> None:
            received.append(what)
            asked.set()

        engines.current().publish("test", "of an actor", {"pid": os.getpid()}, notified)
        assert asked.wait(600)
        return received[0]


def test_an_observer_sees_a_worker_s_record_and_asks_it_while_its_function_runs(cluster: Place) -> None:
    actor = Publisher.remote()
    answer = actor.run.remote()
    with observing.connected(record()) as observer:
        wait_until(lambda: "of an actor" in shown(observer))
        assert observer.ask({"ask": "ask_publisher", "id": "of an actor", "what": "stop"}) == {
            "kind": "done",
            "ask": "ask_publisher",
        }
        assert nbaccel.get(answer) == "stop"
        os.kill(shown(observer)["of an actor"]["pid"], signal.SIGKILL)
        wait_until(lambda: not shown(observer), "the record of the worker that was killed to go")
        refused = observer.ask({"ask": "ask_publisher", "id": "of an actor", "what": "stop"})
        assert refused["kind"] == "error" and "No record of an actor is published" in refused["message"]


def test_a_driver_that_ends_takes_its_records_along_and_nobody_else_may_replace_them(cluster: Place) -> None:
    engine = engines.current()
    engine.publish("test", "ours", {"step": 1})
    sock, reader = raw_driver()
    with observing.connected(record()) as observer, sock:
        for number, id in enumerate(("theirs", "ours"), start=1):
            sock.sendall(
                wire.frame([wire.QuestionMessage(number, Publish.tag(), Publish("test", id, {"step": 2}).body())])
            )
        answers: list[wire.Answer] = []
        while len(answers) < 2:
            answers += [each for each in reader.feed(sock.recv(1 << 16)) if isinstance(each, wire.Answer)]
        assert [(each.kind, each.error) for each in answers] == [
            ("", ""),
            ("ValueError", "The record ours is published by another program."),
        ]
        assert shown(observer) == {"ours": {"step": 1}, "theirs": {"step": 2}}
        sock.close()
        wait_until(lambda: shown(observer) == {"ours": {"step": 1}}, "the record of the driver that ended to go")
        engine.publish("test", "ours", None)
        assert shown(observer) == {}

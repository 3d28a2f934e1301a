"""Several nodes: which one gets the work, labels, affinity, and what is lost with a node."""

from __future__ import annotations

from nbaccel.scheduling import events as ev
from nbaccel.scheduling.terms import Placement, Task
from tests.scheduling.world import World, choice, node


def cluster(*, gpus: int = 0) -> World:
    return World(
        node("head", gpus, CPU=4), node("n1", CPU=4, labels={"zone": "a"}), node("n2", CPU=4, labels={"zone": "b"})
    )


def nodes_of(w: World, tasks: list[Task]) -> list[str]:
    w.ready()
    return [w.node_of(task) for task in tasks]


def test_nodes_are_filled_to_half_in_order_then_the_least_used_is_next() -> None:
    w = cluster()
    placed = nodes_of(w, [w.submit("f") for _ in range(12)])
    assert placed[:6] == ["head", "head", "n1", "n1", "n2", "n2"]
    assert sorted(placed[6:9]) == ["head", "n1", "n2"]
    assert sorted(placed[9:]) == ["head", "n1", "n2"]


def test_cpu_work_leaves_nodes_with_accelerators_alone_while_it_can() -> None:
    w = cluster(gpus=1)
    placed = nodes_of(w, [w.submit("f") for _ in range(9)])
    assert "head" not in placed[:8]
    assert placed[8] == "head"


def test_spread_goes_round() -> None:
    w = cluster()
    placed = nodes_of(w, [w.submit("f", choice(Placement("SPREAD"), CPU=1)) for _ in range(6)])
    assert placed == ["head", "n1", "n2", "head", "n1", "n2"]


def test_a_hard_affinity_waits_for_its_node_and_a_soft_one_too_while_it_is_only_busy() -> None:
    w = cluster()
    fill = [w.submit("fill", choice(Placement("NODE", node_id=b"n1"), CPU=1)) for _ in range(4)]
    hard = w.submit("hard", choice(Placement("NODE", node_id=b"n1"), CPU=1))
    w.ready()
    assert nodes_of(w, fill) == ["n1"] * 4
    assert not w.is_sent(hard)
    w.returns(fill[0], after_s=0.1)
    assert w.node_of(hard) == "n1"


def test_a_soft_affinity_to_a_node_that_is_not_here_goes_elsewhere() -> None:
    w = cluster()
    task = w.submit("f", choice(Placement("NODE", node_id=b"gone", soft=True), CPU=1))
    assert nodes_of(w, [task]) == ["head"]


def test_a_hard_affinity_to_a_node_that_is_not_here_is_refused_in_words() -> None:
    w = cluster()
    task = w.submit("f", choice(Placement("NODE", node_id=b"\x01\x02"), CPU=1))
    assert w.outcomes[task.task_id] == "unschedulable"
    assert "0102" in w.messages[task.task_id]


def test_labels_choose_the_node() -> None:
    w = cluster()

    def placed(key: str, condition: str) -> str:
        task = w.submit("f", choice(Placement(labels=((key, condition),)), CPU=1))
        return nodes_of(w, [task])[0]

    assert placed("zone", "b") == "n2"
    assert placed("zone", "in(b, c)") == "n2"
    assert placed("zone", "!a") == "head", "a node without the label is not in zone a"
    assert placed("zone", "exists()") in ("n1", "n2")
    assert placed("zone", "!in(a,b)") == "head"


def test_soft_labels_are_a_wish() -> None:
    w = cluster()
    wish = Placement(soft_labels=(("zone", "b"),))
    assert nodes_of(w, [w.submit("f", choice(wish, CPU=1)) for _ in range(5)]) == ["n2"] * 4 + ["head"]


def test_a_node_that_joins_takes_what_could_not_run() -> None:
    w = cluster()
    task = w.submit("f", choice(CPU=1, TPU=1))
    assert w.warnings[0].kind == "infeasible"
    w.add_node(ev.NodeSpec(b"n3", "n3", {"CPU": 10_000}, [ev.DeviceSpec("TPU", 0)]))
    assert nodes_of(w, [task]) == ["n3"]


def test_a_lost_node_sends_its_tasks_elsewhere_if_they_may() -> None:
    w = cluster()
    on_n1 = choice(Placement(soft_labels=(("zone", "a"),)), CPU=2)
    again, lost = w.submit("again", on_n1, retries_left=1), w.submit("lost", on_n1, retries_left=0)
    assert nodes_of(w, [again, lost]) == ["n1", "n1"]
    w.notify(ev.NodeRemoved(b"n1"))
    assert w.outcomes == {lost.task_id: "node died"}
    assert len(w.stopping()) == 2
    w.ready()
    assert w.node_of(again) == "head"
    for worker in w.stopping():
        w.dies(worker)


def test_a_lost_node_restarts_its_actors_elsewhere() -> None:
    w = cluster()
    there = choice(Placement(soft_labels=(("zone", "a"),)), CPU=1)
    creation = w.actor("A", there, max_restarts=1)
    w.ready()
    w.returns(creation)
    assert w.node_of(creation) == "n1"
    w.notify(ev.NodeRemoved(b"n1"))
    assert w.actors[b"a"] == "RESTARTING"
    w.ready()
    w.returns(creation)
    assert w.node_of(creation) == "head" and w.actors[b"a"] == "ALIVE"


def test_a_worker_stays_on_its_node() -> None:
    w = cluster()
    first = w.submit("f", choice(Placement("NODE", node_id=b"n1"), CPU=1))
    w.ready()
    used = w.worker_of(first)
    w.returns(first)
    second = w.submit("f", choice(Placement("NODE", node_id=b"n2"), CPU=1))
    w.ready()
    assert w.worker_of(second) is not used

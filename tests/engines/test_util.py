"""The helpers that programs import from util, on every engine."""

from __future__ import annotations

import pytest

import nbaccel
from nbaccel.util import ActorPool, as_completed, inspect_serializability, map_unordered
from nbaccel.util.multiprocessing import Pool
from nbaccel.util.queue import Empty, Full, Queue
from nbaccel.util.state import get_actor, list_actors, list_nodes, list_tasks, summarize_tasks
from tests.rig import wait_until

ENDED = ("FINISHED", "FAILED", "CANCELLED")


@nbaccel.remote
def double(value):
    return 2 * value


@nbaccel.remote
class Doubler:
    def double(self, value):
        return 2 * value


def test_a_pool_of_actors_keeps_order_or_not(nb):
    pool = ActorPool([Doubler.remote(), Doubler.remote()])
    assert list(pool.map(lambda actor, value: actor.double.remote(value), [1, 2, 3, 4])) == [2, 4, 6, 8]
    assert sorted(pool.map_unordered(lambda actor, value: actor.double.remote(value), [1, 2, 3])) == [2, 4, 6]


def test_a_queue_is_shared_by_tasks(nb):
    queue = Queue(maxsize=2)

    @nb.remote
    def fill(queue):
        queue.put("first")
        queue.put("second")

    nb.get(fill.remote(queue))
    assert queue.full()
    with pytest.raises(Full):
        queue.put_nowait("third")
    assert [queue.get(), queue.get()] == ["first", "second"]
    with pytest.raises(Empty):
        queue.get_nowait()
    queue.shutdown()


def test_a_pool_of_processes_maps(nb):
    with Pool(2) as pool:
        assert pool.map(abs, [-1, 2, -3]) == [1, 2, 3]
        assert pool.apply(pow, (2, 5)) == 32
        assert sorted(pool.imap_unordered(abs, [-4, -5])) == [4, 5]


def test_what_is_done_comes_first_or_in_any_order(nb):
    refs = [double.remote(value) for value in range(5)]
    assert sorted(as_completed(refs)) == [0, 2, 4, 6, 8]
    assert sorted(map_unordered(double, range(4))) == [0, 2, 4, 6]


def test_what_cannot_be_pickled_is_found(nb, capsys):
    import threading

    lock = threading.Lock()
    fine, failures = inspect_serializability(lambda: lock, name="with a lock")
    assert not fine
    assert failures
    assert inspect_serializability(lambda: 1)[0] is True


def test_the_state_of_the_cluster_is_listed(nb):
    nb.snapshot()
    actor = Doubler.remote()
    ref = double.options(name="listed").remote(21)
    assert nb.get([ref, actor.double.remote(1)]) == [42, 2]
    assert wait_until(lambda: [row for row in list_tasks() if row.name == "listed"])
    row = wait_until(lambda: get_actor(actor._actor_id.hex()))
    assert (row.class_name, row.state) == ("Doubler", "ALIVE")
    assert any(each.actor_id == row.actor_id for each in list_actors(filters=[("state", "=", "ALIVE")]))
    assert [node.state for node in list_nodes()] == ["ALIVE"]
    assert wait_until(lambda: "double" in str(summarize_tasks()))


def test_what_other_tasks_have_submitted_and_can_never_begin_does_not_wait(nb, gate):
    """Such rows would stand before all others for ever, since lists begin with what has not ended."""

    @nb.remote(num_cpus=0, resources={"there is none": 1})
    def child():
        pass

    @nb.remote(num_cpus=0)
    def cancels():
        nb.cancel(child.options(name="cancelled by its parent").remote())

    @nb.remote(num_cpus=0)
    class Busy:
        def block(self, gate):
            nb.get(gate.open.remote())
            nb.get(child.remote())

        def later(self):
            pass

    @nb.remote(num_cpus=0)
    class Parent:
        def submit(self, gate):
            self.left = child.options(name="left by its parent").remote()
            busy = Busy.remote()
            busy.block.options(name="in a dead actor").remote(gate)
            self.call = busy.later.options(name="of a dead actor").remote()
            nb.get(gate.wait.remote())  # one call: thousands of them would push what came before out of the views
            nb.kill(busy)

    def waiting(name):
        return [each for each in list_tasks(limit=10_000) if each.name == name and each.state not in ENDED]

    nb.snapshot()
    parent = Parent.remote()
    nb.get([cancels.remote(), parent.submit.remote(gate)])
    assert wait_until(lambda: waiting("left by its parent"))
    nb.kill(parent)
    for name in ("left by its parent", "cancelled by its parent", "in a dead actor", "of a dead actor"):
        wait_until(lambda name=name: not waiting(name), name)
    assert wait_until(lambda: [each.state for each in list_tasks(limit=10_000) if each.name.startswith("cancelled by")])


def test_a_function_says_util_by_its_path(nb):
    @nb.remote
    def asks():
        pool = nbaccel.util.ActorPool([Doubler.remote()])
        return nbaccel.util.get_current_placement_group(), list(pool.map(lambda actor, n: actor.double.remote(n), [4]))

    assert nb.get(asks.remote()) == (None, [8])

"""Detached actors on a head that several drivers share, one after the other."""

import contextlib
import os

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.cluster_utils import Cluster
from tests.rig import wait_until


@pytest.fixture(scope="module")
def shared():
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "num_gpus": 1})
    yield cluster
    cluster.shutdown()


@pytest.fixture
def cluster(shared):
    """The shared head; the detached actors that the test leaves on it are ended."""
    yield shared
    try:
        for row in nbaccel.util.list_named_actors(all_namespaces=True):
            # An actor that is not detached ends by itself, maybe between the two questions: its last handle went out of
            # scope with the test.
            with contextlib.suppress(ValueError):
                nbaccel.kill(nbaccel.get_actor(row["name"], row["namespace"]))
    finally:
        nbaccel.shutdown()


@nbaccel.remote
class Counter:
    def __init__(self):
        self.n = 0

    def add(self):
        self.n += 1
        return self.n

    def pid(self):
        return os.getpid()

    def nested(self):
        return nbaccel.get(one.remote())


@nbaccel.remote
def one():
    return 1


def join(cluster, namespace):
    nbaccel.init(address=cluster.address, namespace=namespace)


def test_a_detached_actor_outlives_its_driver(cluster):
    join(cluster, "ours")
    counter = Counter.options(name="lasting", lifetime="detached", num_gpus=1).remote()
    assert nbaccel.get(counter.add.remote()) == 1
    nbaccel.shutdown()
    join(cluster, "ours")
    with pytest.raises(exceptions.ActorDiedError, match="get_actor"):
        counter.add.remote()
    assert nbaccel.util.list_named_actors() == ["lasting"]
    counter = nbaccel.get_actor("lasting")
    assert nbaccel.get(counter.add.remote()) == 2
    assert nbaccel.get(counter.nested.remote()) == 1
    assert nbaccel.available_resources().get("GPU", 0) == 0
    nbaccel.kill(counter)
    wait_until(lambda: nbaccel.available_resources().get("GPU", 0) == 1)


def test_others_end_with_their_driver(cluster):
    join(cluster, "ours")
    counter = Counter.options(name="passing").remote()
    pid = nbaccel.get(counter.pid.remote())
    nbaccel.shutdown()
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    join(cluster, "ours")
    with pytest.raises(ValueError, match="passing"):
        nbaccel.get_actor("passing")
    assert nbaccel.get(Counter.options(name="passing").remote().add.remote()) == 1


def test_another_namespace_does_not_see_it(cluster):
    join(cluster, "ours")
    Counter.options(name="ours", lifetime="detached").remote()
    nbaccel.shutdown()
    join(cluster, "theirs")
    with pytest.raises(ValueError, match="lives in namespace 'ours'"):
        nbaccel.get_actor("ours")
    assert nbaccel.get(nbaccel.get_actor("ours", namespace="ours").add.remote()) == 1


def test_a_handle_of_a_dead_one_says_so(cluster):
    join(cluster, "ours")
    counter = Counter.options(name="c", lifetime="detached").remote()
    nbaccel.kill(counter)
    with pytest.raises(exceptions.ActorDiedError, match="killed"):
        nbaccel.get(counter.add.remote())

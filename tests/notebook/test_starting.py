"""A cell that starts a cluster may run twice: the same is no news, a difference is said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel.exceptions import HeadDiedError
from nbaccel.notebook.arguments import TypingMistake
from nbaccel.notebook.magics import Starter
from nbaccel.views.snapshot import Snapshot


class FakeCluster:
    """Remembers what it was asked; every start is a new session."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.running = False
        self.lost = ""
        self.heads: list[Any] = []

    def is_initialized(self) -> bool:
        return self.running

    def init(self, **options: Any) -> None:
        self.asked.append(("init", options))
        self.running = True
        self._snapshot.runtime.session = f"session-{len(self.asked)}"
        self._snapshot.runtime.shared = bool(options.get("address"))

    def shutdown(self) -> None:
        self.asked.append(("shutdown", {}))
        self.running = False
        self.lost = ""

    def snapshot(self) -> Snapshot:
        if self.lost:
            raise HeadDiedError(self.lost)
        return self._snapshot

    def start_head(self, **options: Any) -> Any:
        self.asked.append(("start_head", options))
        self.heads.append(SimpleNamespace(pid=99, shared=True, socket="/run/99/head.sock", session="", owner_pid=0))
        return self.heads[-1]

    def find(self) -> list[Any]:
        return self.heads


@pytest.fixture
def cluster(busy_snapshot: Snapshot) -> FakeCluster:
    busy_snapshot.nodes[0].totals["CPU"] = 8.0
    return FakeCluster(busy_snapshot)


@pytest.fixture
def starter(cluster: FakeCluster) -> Starter:
    return Starter(cluster, cluster.init, cluster.find)


def test_the_same_options_again_start_nothing(cluster: FakeCluster, starter: Starter) -> None:
    starter.start({"num_gpus": 2})
    assert starter.start({"num_gpus": 2}) == []
    assert starter.start({}) == []
    assert cluster.asked == [("init", {"num_gpus": 2})]


def test_other_options_are_refused_with_the_difference_and_the_price(cluster: FakeCluster, starter: Starter) -> None:
    starter.start({"num_gpus": 2})
    with pytest.raises(TypingMistake) as caught:
        starter.start({"num_gpus": 4, "num_cpus": 1})
    said = str(caught.value)
    assert "num_gpus was 2 and is now 4" in said
    assert "num_cpus was not given and is now 1" in said
    assert "add --restart, which ends 2 running tasks" in said
    assert cluster.running


def test_restart_ends_the_old_cluster_first(cluster: FakeCluster, starter: Starter) -> None:
    starter.start({"num_gpus": 2})
    assert starter.start({"num_gpus": 4}, restart=True) == ["nbaccel has shut down."]
    assert [name for name, _ in cluster.asked] == ["init", "shutdown", "init"]


@pytest.mark.parametrize("more", [{}, {"restart": True}, {"shared": True}])
def test_what_can_never_be_started_is_refused_though_a_cluster_runs(
    cluster: FakeCluster, starter: Starter, more: dict[str, bool]
) -> None:
    starter.start({"num_gpus": 2})
    with pytest.raises(ValueError, match="num_gpus cannot be negative"):
        starter.start({"num_gpus": -1}, **more)
    assert cluster.running


def test_a_cluster_started_by_code_is_not_taken_for_the_magics_own(cluster: FakeCluster, starter: Starter) -> None:
    cluster.init(num_gpus=1)
    assert starter.start({}) == []
    with pytest.raises(TypingMistake, match="did not start runs already"):
        starter.start({"num_gpus": 1})


def test_shared_starts_a_head_that_a_second_notebook_joins(cluster: FakeCluster, starter: Starter) -> None:
    assert "Started a shared cluster, pid 99" in starter.start({"num_gpus": 2}, shared=True)[0]
    assert cluster.asked == [("start_head", {"num_gpus": 2}), ("init", {"address": "/run/99/head.sock"})]
    assert starter.stop().startswith("Left the shared cluster")
    other = Starter(cluster, cluster.init, cluster.find)
    assert other.start({}, shared=True) == ["Joined the shared cluster of pid 99."]
    assert [name for name, _ in cluster.asked].count("start_head") == 1


def test_a_cluster_that_a_process_owns_is_ended_by_its_code(cluster: FakeCluster, starter: Starter) -> None:
    cluster.init(address="/run/98/head.sock")
    cluster.heads.append(SimpleNamespace(session=cluster.snapshot().runtime.session, owner_pid=7, shared=True))
    assert starter.stop() == (
        "Left the cluster; it runs on. `cluster.shutdown()` ends it where `Cluster(...)` started it, or the end of "
        "that process (pid 7)."
    )


def test_a_ray_cluster_that_is_left_is_ended_where_it_was_started(cluster: FakeCluster, starter: Starter) -> None:
    starter.start({"address": "10.0.0.5:6379"})
    cluster.snapshot().runtime.engine = "ray"
    said = starter.stop()
    assert said.startswith("Left the Ray cluster; it runs on.")
    assert "End it with" not in said and "kubectl delete raycluster" in said


def test_joining_says_when_ones_own_options_do_not_apply(cluster: FakeCluster, starter: Starter) -> None:
    cluster.start_head()
    assert "not num_gpus=8" in starter.start({"num_gpus": 8}, shared=True)[0]


def test_in_a_shared_cluster_options_of_ones_own_were_never_there(cluster: FakeCluster, starter: Starter) -> None:
    cluster.start_head()
    starter.start({"num_gpus": 4}, shared=True)
    assert starter.start({}, shared=True) == [], "num_gpus never was 4, and nothing has to end"
    assert "not num_gpus=8" in starter.start({"num_gpus": 8}, shared=True)[0]
    with pytest.raises(TypingMistake, match=r"--restart leaves it .* ends only what runs of this notebook"):
        starter.start({"num_gpus": 2})
    assert [name for name, _ in cluster.asked] == ["start_head", "init"]


def test_stopping_what_does_not_run_says_so(starter: Starter) -> None:
    assert starter.stop() == "nbaccel was not running here."


LOST = "The head has ended unexpectedly: it is gone. What had not been fetched is lost; call nbaccel.init() again."


def test_a_cluster_whose_head_was_killed_is_started_anew(cluster: FakeCluster, starter: Starter) -> None:
    starter.start({"num_gpus": 2})
    cluster.lost = LOST
    said = starter.start({"num_gpus": 4})
    assert said == ["The old cluster has gone. The head has ended unexpectedly: it is gone."]
    assert [name for name, _ in cluster.asked] == ["init", "shutdown", "init"]


def test_a_cluster_whose_head_was_killed_can_be_left(cluster: FakeCluster, starter: Starter) -> None:
    starter.start({"num_gpus": 2})
    cluster.lost = LOST
    assert starter.stop() == "The old cluster has gone. The head has ended unexpectedly: it is gone."
    assert starter.stop() == "nbaccel was not running here."


def test_fewer_cpus_than_devices_are_told_once(starter: Starter, cluster: FakeCluster) -> None:
    cluster.snapshot().nodes[0].totals = {"CPU": 2.0, "GPU": 3.0}
    (said,) = starter.start({"num_gpus": 3})
    assert "3 GPUs and 2 CPUs" in said and "num_cpus=0" in said
    assert starter.start({"num_gpus": 3}) == []

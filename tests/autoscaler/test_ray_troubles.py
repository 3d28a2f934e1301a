"""Bad days of growing on Ray's autoscaler: nodes that hang, or have to stay."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

pytest.importorskip("ray")

from tests.autoscaler.scaling_ray import ScalingRay, Watcher, node_type, scaling_ray
from tests.autoscaler.troubled_provider import RELEASE
from tests.autoscaler.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.ray, pytest.mark.timeout(600)]

DEADLINE_S = 120.0
PROVIDER = "tests.autoscaler.troubled_provider.TroubledProvider"
TYPES = {
    "kept": node_type(1, least=1, kept=1),
    "gpu": node_type(2, GPU=1),
    "slow": node_type(1, slow=1),
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ScalingRay]:
    with scaling_ray(TYPES, PROVIDER) as started:
        os.mkfifo(started.folder / RELEASE)
        yield started


@pytest.fixture(scope="module")
def watcher(cluster: ScalingRay) -> Iterator[Watcher]:
    watcher = Watcher(cluster)
    yield watcher
    watcher.end()


def here(watcher: Watcher, kind: str) -> list[str]:
    rows = f"[row.node_id for row in autoscaler.status().nodes if row.node_type == {kind!r}]"
    return list(watcher.ask(rows))


def test_the_least_number_of_nodes_comes_unasked_and_stays_while_an_idle_node_leaves(watcher: Watcher) -> None:
    until(lambda: len(here(watcher, "kept")) == 1, "the node that is always there comes", DEADLINE_S)
    stays = here(watcher, "kept")
    watcher.ask("(hold := autoscaler.held(num_gpus=1)).__enter__() and None")
    until(lambda: len(here(watcher, "gpu")) == 1, "another one comes", DEADLINE_S)
    watcher.ask("hold.__exit__(None, None, None)")
    until(lambda: here(watcher, "gpu") == [], "the other one leaves", DEADLINE_S)
    assert here(watcher, "kept") == stays  # it has been idle for longer


def test_a_provider_that_hangs_is_told_keeps_no_other_from_coming_and_may_bring_its_node_late(
    cluster: ScalingRay, watcher: Watcher
) -> None:
    watcher.ask('(hold := autoscaler.held(bundles=[{"slow": 1}, {"GPU": 1}])).__enter__() and None')
    arriving = "[row.node_type for row in autoscaler.status().arriving]"
    until(lambda: "slow" in watcher.ask(arriving), "the node is on its way", DEADLINE_S)
    until(lambda: len(here(watcher, "gpu")) == 1, "the node of another type comes", DEADLINE_S)
    probed = watcher.ask('str(nbaccel.probe(num_cpus=0, resources={"slow": 1}))')
    assert "a node of the kind slow was asked for" in probed
    (cluster.folder / RELEASE).write_bytes(b"")
    until(lambda: len(here(watcher, "slow")) == 1, "it comes late", DEADLINE_S)
    watcher.ask("hold.__exit__(None, None, None)")

"""The engines that the contract is kept by, one after the other; each is started once for all tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from tests.engines.skips import SKIPS
from tests.rig import Gate, wait_until

NUM_CPUS, NUM_GPUS = 4, 2

# Ray gives its own processes half a minute to start and is then started again: on a busy machine that takes minutes.
ON_RAY = [pytest.mark.ray, pytest.mark.timeout(300)]


def death_of(call: Callable[[], Any]) -> exceptions.ActorDiedError:
    """How an actor that ends has died, as its calls tell sooner or later.

    On Ray, a call may still be answered while the actor is on its way out, and it fails as a call to an actor that is
    out of reach if the news of the death take more than a second.
    """

    def told() -> exceptions.ActorDiedError | None:
        try:
            nbaccel.get(call())
        except exceptions.ActorDiedError as error:
            return error
        except exceptions.RayActorError:
            pass
        return None

    return wait_until(told, "the actor's death")  # type: ignore[no-any-return]


@pytest.fixture(scope="package", params=["local", "debug", pytest.param("ray", marks=ON_RAY)])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of the engine that runs."""
    os.environ["NBACCEL_ENVIRONMENTS"] = str(tmp_path_factory.mktemp("environments"))
    if request.param == "ray":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        pytest.importorskip("ray")
    nbaccel.init(engine=request.param, num_cpus=NUM_CPUS, num_gpus=NUM_GPUS, resources={"TPU": 4, "blue": 2})
    yield request.param
    nbaccel.shutdown()
    del os.environ["NBACCEL_ENVIRONMENTS"]


@pytest.fixture
def nb(engine: str, request: pytest.FixtureRequest) -> ModuleType:
    """nbaccel on this engine; the test is skipped where skips.py says so."""
    reason = SKIPS.get((engine, request.node.originalname))
    if reason is not None:
        pytest.skip(reason)
    return nbaccel


@pytest.fixture
def gate(nb: ModuleType) -> Iterator[Any]:
    """A gate that is shut."""
    gate = Gate.remote()
    yield gate
    nb.kill(gate)


@pytest.fixture
def grouped(nb: ModuleType) -> Iterator[Callable[..., PlacementGroup]]:
    """Asks for placement groups. They are removed at the end, also where the test fails: those after it would wait."""
    made: list[PlacementGroup] = []

    def ask(*bundles: Any, **options: Any) -> PlacementGroup:
        made.append(placement_group(*bundles, **options))
        return made[-1]

    yield ask
    for group in made:
        remove_placement_group(group)


class Late:
    """A ref whose task waits for what an actor holds: not ready before `come()`, also where nothing runs at once."""

    def __init__(self) -> None:
        self._holder = Holder.remote()
        nbaccel.get(self._holder.hold.remote())
        self.ref = late_value.remote()

    def come(self) -> None:
        nbaccel.kill(self._holder)


@nbaccel.remote(num_cpus=0, resources={"blue": 2})
class Holder:
    """Takes all there is of a resource."""

    def hold(self) -> None:
        """It has been placed."""


@nbaccel.remote(num_cpus=0, resources={"blue": 1})
def late_value() -> str:
    return "late"


@pytest.fixture
def late(nb: ModuleType) -> Iterator[Late]:
    """An argument that is not there yet."""
    late = Late()
    yield late
    late.come()
    nb.wait([late.ref])

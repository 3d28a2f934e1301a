"""Placement groups: bundles of resources that are reserved together, for tasks and actors that belong together.

>>> pg = placement_group([{"CPU": 1, "GPU": 1}] * 2, strategy="SPREAD")
>>> nbaccel.get(pg.ready())
>>> train.options(scheduling_strategy=PlacementGroupSchedulingStrategy(pg, 0)).remote()
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles import ObjectRef, PlacementGroupID
from nbaccel.option_checks import label_selector
from nbaccel.options import UNIT

STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
Bundle = dict[str, float]


class PlacementGroup:
    """A handle of a placement group; it can be passed to tasks."""

    def __init__(self, id: PlacementGroupID, bundle_cache: list[Bundle] | None = None) -> None:
        self.id = id
        self.bundle_cache = bundle_cache

    @staticmethod
    def empty() -> PlacementGroup:
        return PlacementGroup(PlacementGroupID.nil())

    @property
    def is_empty(self) -> bool:
        return bool(self.id.is_nil())

    def ready(self) -> ObjectRef[PlacementGroup]:
        """A ref to this group that is ready once all bundles are reserved.

        `get` of it raises TaskPlacementGroupRemoved when the group is removed.
        """
        return engines.current().group_ready(self.id.binary(), self)

    def wait(self, timeout_seconds: float = 30) -> bool:
        """Whether all bundles are reserved within so many seconds; -1 waits without end.

        Raises RaySystemError when the group does not exist any more.
        """
        engine = engines.current()
        ref = self.ready()
        ready, _ = engine.wait([ref], 1, None if timeout_seconds < 0 else timeout_seconds, True)
        if not ready:
            return False
        try:
            engine.get([ref], 0)
        except exceptions.TaskPlacementGroupRemoved:
            raise exceptions.RaySystemError(f"Placement group {self.id} does not exist: it was removed.") from None
        return True

    @property
    def bundle_specs(self) -> list[Bundle]:
        """What each bundle reserves."""
        if self.bundle_cache is None:
            bundles = {} if self.is_empty else _row(self).get("bundles", {})
            self.bundle_cache = [dict(bundle) for _, bundle in sorted(bundles.items())]
        return self.bundle_cache

    @property
    def bundle_count(self) -> int:
        return len(self.bundle_specs)

    def _check_fits(self, demand: Sequence[tuple[str, int]], bundle: int, name: str = "the task") -> None:
        """Raise the ValueError that `.remote()` owes for a bundle that does not exist or is too small."""
        if bundle < -1 or bundle >= self.bundle_count:
            raise ValueError(
                f"placement group bundle index {bundle} is invalid. Valid placement group indexes: 0-{self.bundle_count}"
            )
        bundles = self.bundle_specs if bundle == -1 else [self.bundle_specs[bundle]]
        if not any(_holds(each, demand) for each in bundles):
            asked = {key: amount // UNIT if amount % UNIT == 0 else amount / UNIT for key, amount in demand}
            raise ValueError(
                f"Cannot schedule {name} with the placement group because the resource request {asked} cannot fit into "
                f"any bundles for the placement group, {self.bundle_specs}."
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlacementGroup) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"PlacementGroup({self.id.hex()})"


def _holds(bundle: Mapping[str, float], demand: Sequence[tuple[str, int]]) -> bool:
    return all(round(bundle.get(name, 0) * UNIT) >= amount for name, amount in demand if not _is_type(name))


def _is_type(name: str) -> bool:
    """accelerator_type:X is a trace of a resource, which no bundle has to name."""
    return name.startswith("accelerator_type:")


def placement_group(
    bundles: list[dict[str, float]],
    strategy: str | None = None,
    name: str = "",
    lifetime: str | None = None,
    _soft_target_node_id: str | None = None,
    bundle_label_selector: list[dict[str, str]] | None = None,
    topology_strategy: Any = None,
) -> PlacementGroup:
    """Reserve bundles, all or none; returns at once, see `PlacementGroup.ready`.

    `strategy`: PACK (the default: few nodes), SPREAD (many nodes), STRICT_PACK (one node), STRICT_SPREAD (a node each).
    `lifetime="detached"` outlives the driver. Raises ValueError for bundles that cannot be meant.
    """
    _check_bundles(bundles)
    strategy = "PACK" if strategy is None else strategy
    if strategy not in STRATEGIES:
        raise ValueError(f"Invalid placement group strategy {strategy}. Supported strategies are: {', '.join(STRATEGIES)}.")
    if lifetime not in (None, "detached"):
        raise ValueError(f"Placement group `lifetime` argument must be either `None` or 'detached'. Got {lifetime}.")
    if not isinstance(name, str):
        raise TypeError(f"A placement group's name is a string, not {name!r}.")
    labels = _labels(bundle_label_selector, len(bundles))
    asked = [{key: float(amount) for key, amount in bundle.items() if amount} for bundle in bundles]
    group_id, _ready = engines.current().create_group(asked, strategy, name, lifetime == "detached", labels)
    return PlacementGroup(PlacementGroupID(group_id), asked)


def _check_bundles(bundles: Any) -> None:
    if not isinstance(bundles, list):
        raise ValueError(f"Placement group bundles must be a list, got {type(bundles)}.")
    form = 'Bundles must be a non-empty list of resource dictionaries. For example: `[{"CPU": 1.0}, {"GPU": 1.0}]`.'
    if not bundles:
        raise ValueError(f"{form} Got empty list instead.")
    for bundle in bundles:
        if not isinstance(bundle, dict) or not all(_is_quantity(key, amount) for key, amount in bundle.items()):
            raise ValueError(f"{form} Got {bundle!r}.")
        if not any(bundle.values()):
            raise ValueError(
                f"Bundles cannot be an empty dictionary or resources with only 0 values. Bundles: {bundles}"
            )


def _is_quantity(key: Any, amount: Any) -> bool:
    return isinstance(key, str) and isinstance(amount, Real) and 0 <= float(amount) < math.inf


def _labels(selectors: Any, count: int) -> list[dict[str, str]] | None:
    if selectors is None:
        return None
    if not isinstance(selectors, list) or len(selectors) != count:
        raise ValueError(
            f"Invalid bundle label selector {selectors}. The length of `bundle_label_selector` should equal the length "
            "of `bundles`."
        )
    return [label_selector("bundle_label_selector", selector) for selector in selectors]


def remove_placement_group(placement_group: PlacementGroup) -> None:
    """Give the bundles back; tasks and actors in them end."""
    engines.current().remove_group(placement_group.id.binary())


def get_placement_group(placement_group_name: str) -> PlacementGroup:
    """The placement group of this name. Raises ValueError when there is none."""
    if not placement_group_name:
        raise ValueError("Please supply a non-empty value to get_placement_group")
    row = engines.current().find_group(placement_group_name)
    if row is None:
        raise ValueError(f"Failed to look up placement group with name: {placement_group_name}")
    return PlacementGroup(PlacementGroupID.from_hex(row["placement_group_id"]))


def placement_group_table(placement_group: PlacementGroup | None = None) -> dict[str, Any]:
    """Facts on one group (name, bundles, nodes, strategy, state), or on each by its id."""
    if placement_group is not None:
        return _row(placement_group)
    return engines.current().group_table(None)


def _row(group: PlacementGroup) -> dict[str, Any]:
    return engines.current().group_table(group.id.binary())


def get_current_placement_group() -> PlacementGroup | None:
    """The group that this task or actor runs in; None outside of any."""
    engine = engines.running()
    group_id = engine.context()["placement_group_id"] if engine is not None else None
    return PlacementGroup(PlacementGroupID.from_hex(group_id)) if group_id else None


def check_placement_group_index(placement_group: PlacementGroup, bundle_index: int) -> None:
    """Raise ValueError for a bundle that the group does not have."""
    placement_group._check_fits((), bundle_index)

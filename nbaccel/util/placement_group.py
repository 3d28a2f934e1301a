"""Placement groups: bundles of resources that are reserved together, for tasks and actors that belong together.

>>> pg = placement_group([{"CPU": 1, "GPU": 1}] * 2, strategy="SPREAD")
>>> nbaccel.get(pg.ready())
>>> train.options(scheduling_strategy=PlacementGroupSchedulingStrategy(pg, 0)).remote()
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from nbaccel import engine as engines
from nbaccel.handles.option_checks import bundle as checked_bundle
from nbaccel.handles.option_checks import label_selector
from nbaccel.handles.placement_group_handle import PlacementGroup, made_here
from nbaccel.handles.remote import PlacementGroupID
from nbaccel.util.scheduling_strategies import is_node_id

VALID_PLACEMENT_GROUP_STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")


def placement_group(
    bundles: list[dict[str, float]],
    strategy: str | None = None,
    name: str = "",
    lifetime: str | None = None,
    _soft_target_node_id: str | None = None,
    bundle_label_selector: list[dict[str, str]] | None = None,
    topology_strategy: Any = None,
) -> PlacementGroup:
    """Reserve all of these bundles or none. Returns immediately; see `PlacementGroup.ready`.

    `strategy`: PACK (the default: few nodes), SPREAD (many nodes), STRICT_PACK (one node), STRICT_SPREAD (a node each).
    `_soft_target_node_id`: the preferred node of a STRICT_PACK group. `lifetime="detached"`: the group outlives the
    driver. Raises ValueError for invalid bundles and NotImplementedError for `topology_strategy`.

    >>> from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy
    >>> group = placement_group([{"CPU": 1, "GPU": 1}] * 2, strategy="PACK")
    >>> group.wait(timeout_seconds=30)
    True
    >>> @nbaccel.remote(num_gpus=1, scheduling_strategy=PlacementGroupSchedulingStrategy(group, 0))
    ... def inside(): return get_current_placement_group() is not None
    >>> nbaccel.get(inside.remote())
    True
    >>> remove_placement_group(group)
    """
    if topology_strategy is not None:
        raise NotImplementedError(
            "placement_group(topology_strategy=...) is not supported: nbaccel does not know how nodes are connected. "
            "Label the nodes and give bundle_label_selector=[{...}] for each bundle."
        )
    _check_bundles(bundles)
    strategy = "PACK" if strategy is None else strategy
    if strategy not in VALID_PLACEMENT_GROUP_STRATEGIES:
        raise ValueError(
            f"Invalid placement group strategy {strategy}. Supported strategies are: "
            f"{', '.join(VALID_PLACEMENT_GROUP_STRATEGIES)}."
        )
    if lifetime not in (None, "detached"):
        raise ValueError(f"Placement group `lifetime` argument must be either `None` or 'detached'. Got {lifetime}.")
    if not isinstance(name, str):
        raise TypeError(f"A placement group's name is a string, not {name!r}.")
    soft_node = _soft_node(_soft_target_node_id, strategy)
    labels = _labels(bundle_label_selector, len(bundles))
    asked = _asked(bundles)
    group_id = engines.current().create_group(asked, strategy, name, lifetime == "detached", labels, soft_node)
    group = PlacementGroup(PlacementGroupID(group_id), asked)
    if not name and lifetime is None:
        made_here.add(group.id.hex())
    return group


def why_never_placed(bundles: list[dict[str, float]], strategy: str) -> str:
    """Why no placement group of these bundles could ever be placed here; "" if it could, or if nodes may come (not in
    Ray). No group is made.
    """
    return engines.current().why_never_placed(_asked(bundles), strategy)


def _asked(bundles: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{key: float(amount) for key, amount in bundle.items() if amount} for bundle in bundles]


def _soft_node(node_id: str | None, strategy: str) -> str:
    """The node that a STRICT_PACK group prefers. Raises ValueError, as Ray does."""
    if not node_id:
        return ""
    if strategy != "STRICT_PACK":
        raise ValueError(f"_soft_target_node_id currently only works with STRICT_PACK, but the strategy is {strategy}.")
    if not is_node_id(node_id):
        raise ValueError(f"Invalid hex ID of _soft_target_node_id: {node_id!r}. nbaccel.nodes() lists the nodes.")
    return node_id


def _check_bundles(bundles: Any) -> None:
    if not isinstance(bundles, list):
        raise ValueError(f"Placement group bundles must be a list, got {type(bundles)}.")
    form = 'Bundles must be a non-empty list of resource dictionaries. For example: `[{"CPU": 1.0}, {"GPU": 1.0}]`.'
    if not bundles:
        raise ValueError(f"{form} Got empty list instead.")
    for bundle in bundles:
        if not isinstance(bundle, dict) or not all(_is_quantity(key, amount) for key, amount in bundle.items()):
            raise ValueError(f"{form} Got {bundle!r}.")
        checked_bundle("A bundle of a placement group", bundle)
        if not any(bundle.values()):
            raise ValueError(
                f"Bundles cannot be an empty dictionary or resources with only 0 values. Bundles: {bundles}"
            )


def _is_quantity(key: Any, amount: Any) -> bool:
    return isinstance(key, str) and isinstance(amount, Real)


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
    """Release the bundles; tasks and actors in them end.

    >>> group = nbaccel.util.placement_group([{"CPU": 1}])
    >>> remove_placement_group(group)
    """
    _check_is_group(placement_group)
    engines.current().remove_group(placement_group.id.binary())
    made_here.discard(placement_group.id.hex())


def _check_is_group(thing: Any) -> None:
    if not isinstance(thing, PlacementGroup):
        raise TypeError(f"This takes a PlacementGroup, as placement_group() returns it, not {thing!r}.")


def get_placement_group(placement_group_name: str) -> PlacementGroup:
    """The placement group of this name in the program's namespace. Raises ValueError if there is none.

    >>> group = nbaccel.util.placement_group([{"CPU": 1}], name="kept")
    >>> get_placement_group("kept").id == group.id
    True
    >>> remove_placement_group(group)
    """
    if not placement_group_name:
        raise ValueError("Please supply a non-empty value to get_placement_group")
    engine = engines.current()
    row = engine.find_group(placement_group_name)
    if row is None:
        rows = engine.group_table(None).values()
        elsewhere = any(row["name"] == placement_group_name and row["state"] != "REMOVED" for row in rows)
        hint = " One of that name is in another namespace: give both programs init(namespace=...)." if elsewhere else ""
        raise ValueError(f"Failed to look up placement group with name: {placement_group_name}.{hint}")
    return PlacementGroup(PlacementGroupID.from_hex(row["placement_group_id"]))


def placement_group_table(placement_group: PlacementGroup | None = None) -> dict[str, Any]:
    """One group as a dict (name, bundles, nodes, strategy, state), or all groups by id.

    >>> group = nbaccel.util.placement_group([{"CPU": 1}], name="listed")
    >>> placement_group_table(group)["name"]
    'listed'
    >>> remove_placement_group(group)
    """
    if placement_group is not None:
        _check_is_group(placement_group)
        return _row(placement_group)
    return engines.current().group_table(None)


def _row(group: PlacementGroup) -> dict[str, Any]:
    return engines.current().group_table(group.id.binary())


def get_current_placement_group() -> PlacementGroup | None:
    """The group that this task or actor runs in, or None.

    >>> get_current_placement_group() is None         # the driver is in none
    True
    """
    engine = engines.started()
    group_id = engine.context().placement_group_id if engine is not None else None
    return PlacementGroup(PlacementGroupID.from_hex(group_id)) if group_id else None


def check_placement_group_index(placement_group: PlacementGroup, bundle_index: int) -> None:
    """Raise ValueError if the group has no bundle of this index."""
    placement_group._check_fits((), bundle_index)


__all__ = [
    "PlacementGroup",
    "check_placement_group_index",
    "get_current_placement_group",
    "get_placement_group",
    "placement_group",
    "placement_group_table",
    "remove_placement_group",
]

"""PlacementGroupFactory, under the path at which programs import it from Ray Tune."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbaccel.tune.resources import PlacementGroupFactory, resources_of

__all__ = ["PlacementGroupFactory", "resource_dict_to_pg_factory"]


def resource_dict_to_pg_factory(spec: Mapping[str, Any] | PlacementGroupFactory | None = None) -> PlacementGroupFactory:
    """The factory of a dict such as {"cpu": 2, "gpu": 1}; one CPU for None."""
    if isinstance(spec, PlacementGroupFactory):
        return spec
    return PlacementGroupFactory([dict(bundle) for bundle in resources_of(spec, {}).bundles])

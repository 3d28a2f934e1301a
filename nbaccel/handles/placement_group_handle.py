"""The handle of a placement group, and the checks before a task or actor is placed into the group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles.remote import ObjectRef, PlacementGroupID
from nbaccel.quantities import TYPE_PREFIX, UNIT

Bundle = dict[str, float]

made_here: set[str] = set()  # ids of groups that this process has made and not removed, and that have no name


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
        """A ref to this group that becomes ready once all bundles are reserved.

        `get` of the ref raises TaskPlacementGroupRemoved if the group is removed.
        """
        return engines.current().group_ready(self.id.binary(), self)

    def wait(self, timeout_seconds: float = 30) -> bool:
        """Wait until all bundles are reserved; False after `timeout_seconds`. -1 waits without a limit.

        Raises RaySystemError if the group was removed.
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
        """The resources that each bundle reserves."""
        if self.bundle_cache is None:
            bundles = {} if self.is_empty else engines.current().group_table(self.id.binary()).get("bundles", {})
            self.bundle_cache = [dict(bundle) for _, bundle in sorted(bundles.items())]
        return self.bundle_cache

    @property
    def bundle_count(self) -> int:
        return len(self.bundle_specs)

    def _check_fits(self, demand: Sequence[tuple[str, int]], bundle: int, name: str = "the task") -> None:
        """Raise the ValueError of `.remote()` for a bundle that does not exist or is too small."""
        if bundle < -1 or bundle >= self.bundle_count:
            raise ValueError(
                f"placement group bundle index {bundle} is invalid. Valid placement group indexes: "
                f"0-{self.bundle_count}"
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
    """Whether this is accelerator_type:X, a tiny amount that no bundle has to name."""
    return name.startswith(TYPE_PREFIX)

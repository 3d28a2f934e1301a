"""Placement groups on Ray, which places them; what can never be placed is said at once, or an error at `ready`."""

from __future__ import annotations

from typing import Any

from nbaccel import engine as engines
from nbaccel.handles.options import ResourceOptions, TaskOptions
from nbaccel.handles.refs import ObjectRef
from nbaccel.ray_engine.reports import group_plans
from nbaccel.ray_engine.submission import supervising
from nbaccel.ray_engine.submission.errors import translated
from nbaccel.ray_engine.submission.options_for_ray import group_of, rays_group
from nbaccel.views import sinks
from nbaccel.views.snapshot import GroupRow


class Groups:
    """Mixed into the engine; needs `options`, `stand_ins`, `refused_groups`, `nodes_only` and `autoscaler`."""

    def create_group(
        self: Any,
        bundles: list[dict[str, float]],
        strategy: str,
        name: str,
        detached: bool,
        bundle_labels: list[dict[str, str]] | None,
        soft_node: str,
    ) -> bytes:
        from ray.util.placement_group import placement_group

        with translated():
            group = placement_group(
                bundles,
                strategy=strategy,
                name=name,
                lifetime="detached" if detached else None,
                bundle_label_selector=bundle_labels,
                _soft_target_node_id=soft_node or None,
            )
        group_id = bytes(group.id.binary())
        self._judge_group(GroupRow(group_id.hex(), name, "PENDING", strategy, bundles), bundle_labels)
        return group_id

    def group_ready(self: Any, group_id: bytes, value: Any) -> ObjectRef[Any]:
        refused = self.why_group_is_refused(group_id) if group_id in self.refused_groups else ""
        if refused:
            inner = supervising.refusing(f"{refused}.", TaskOptions(), self).remote()
            return ObjectRef(inner.binary(), self, inner)
        inner = rays_group(group_id).ready()
        ref: ObjectRef[Any] = ObjectRef(inner.binary(), self, inner)
        self.stand_ins[ref._id] = value  # what `get` gives for it: the user's own handle, not Ray's
        return ref

    def remove_group(self: Any, group_id: bytes) -> None:
        from ray.util.placement_group import remove_placement_group

        self.refused_groups.pop(group_id, None)
        with translated():
            remove_placement_group(rays_group(group_id))

    def group_table(self: Any, group_id: bytes | None) -> dict[str, Any]:
        from ray.util.placement_group import placement_group_table

        if group_id is None:
            return dict(placement_group_table())
        return dict(placement_group_table(rays_group(group_id)))

    def find_group(self: Any, name: str) -> dict[str, Any] | None:
        from ray.util.placement_group import get_placement_group

        try:
            group = get_placement_group(name)  # Ray looks in the namespace of this program
        except ValueError:
            return None
        row: dict[str, Any] = self.group_table(group.id.binary())
        return row if row["state"] != "REMOVED" else None

    # ---- never

    def _never_placed(self: Any, row: GroupRow, labels: list[dict[str, str]] | None) -> str:
        sentence: str = group_plans.never(self.nodes_only(), row, labels, self.autoscaler)
        return sentence

    def _judge_group(self: Any, row: GroupRow, labels: list[dict[str, str]] | None) -> None:
        """Of a driver's groups, which are the ones somebody looks at."""
        if self.in_worker:
            return
        sentence = self._never_placed(row, labels)
        if not sentence:
            return
        if self.options.infeasible == "raise":
            self.refused_groups[bytes.fromhex(row.group_id)] = (row, labels)
        else:
            parent = engines.cell_source()[1] if engines.cell_source is not None else b""
            message = f"{sentence}. It waits, because a node may join."
            sinks.installed.notice(sinks.Notice("infeasible", message, parent, bytes.fromhex(row.group_id)))

    def why_group_is_refused(self: Any, group_id: bytes) -> str:
        """Asked anew, since a node may have joined; "" for groups that wait or are placed."""
        row, labels = self.refused_groups.get(group_id, (None, None))
        sentence = self._never_placed(row, labels) if row is not None else ""
        if not sentence:
            self.refused_groups.pop(group_id, None)
        return str(sentence)

    def why_its_group_is_refused(self: Any, options: ResourceOptions) -> str:
        """Of the group that work with these options runs in."""
        group = group_of(options) if self.refused_groups else None
        return str(self.why_group_is_refused(group.id.binary())) if group is not None else ""

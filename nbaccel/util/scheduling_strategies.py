"""Objects for `scheduling_strategy=`: run in a placement group, on a node, or by labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbaccel.handles.placement_group_handle import PlacementGroup

__all__ = [
    "DoesNotExist",
    "Exists",
    "In",
    "NodeAffinitySchedulingStrategy",
    "NodeLabelSchedulingStrategy",
    "NotIn",
    "PlacementGroupSchedulingStrategy",
]

NODE_ID_DIGITS = 56
Pairs = list[tuple[str, str]]


class PlacementGroupSchedulingStrategy:
    """Run in a placement group: in the bundle of this index, or (-1) in any bundle with enough free resources.

    With `placement_group_capture_child_tasks=True`, tasks that the task or actor submits run in the group too,
    unless they say otherwise. With `placement_group=None`, it runs in no group.

    >>> outside = PlacementGroupSchedulingStrategy(None)
    """

    def __init__(
        self,
        placement_group: PlacementGroup | None,
        placement_group_bundle_index: int = -1,
        placement_group_capture_child_tasks: bool | None = None,
    ) -> None:
        self.placement_group = placement_group
        self.placement_group_bundle_index = placement_group_bundle_index
        self.placement_group_capture_child_tasks = placement_group_capture_child_tasks


class NodeAffinitySchedulingStrategy:
    """Run on the node of this id (56 hex digits, from `nbaccel.nodes()`).

    If that node is gone or can never run the task, `soft=True` takes another node, and `soft=False` fails the task with
    TaskUnschedulableError. Raises ValueError for an invalid node id.

    >>> here = NodeAffinitySchedulingStrategy(nbaccel.get_runtime_context().get_node_id(), soft=False)
    >>> @nbaccel.remote(scheduling_strategy=here)
    ... def stay(): return 1
    >>> nbaccel.get(stay.remote())
    1
    """

    def __init__(
        self, node_id: str, soft: bool, _spill_on_unavailable: bool = False, _fail_on_unavailable: bool = False
    ) -> None:
        hex_id = node_id if isinstance(node_id, str) else getattr(node_id, "hex", str)()
        if not is_node_id(hex_id):
            raise ValueError(
                f"Invalid node_id {node_id!r}. Node ID must be a valid hex string of {NODE_ID_DIGITS} digits. "
                "nbaccel.nodes() lists the nodes with their ids."
            )
        self.node_id = hex_id
        self.soft = soft
        self._spill_on_unavailable = _spill_on_unavailable
        self._fail_on_unavailable = _fail_on_unavailable


def is_node_id(text: str) -> bool:
    """Whether this has the form of a node's id."""
    try:
        return len(bytes.fromhex(text)) * 2 == NODE_ID_DIGITS
    except ValueError:
        return False


class In:
    """The label has one of these values."""

    _form = "in({})"

    def __init__(self, *values: str) -> None:
        self.values = list(_checked_values(values, type(self).__name__))

    def condition(self) -> str:
        """The condition as a label selector has it: "in(a,b)"."""
        return self._form.format(",".join(self.values))


class NotIn(In):
    """The label has none of these values, or the node lacks it."""

    _form = "!in({})"


class Exists:
    """The node has the label, whatever its value."""

    def condition(self) -> str:
        return "exists()"


class DoesNotExist:
    """The node lacks the label."""

    def condition(self) -> str:
        return "!exists()"


_OPERATORS = (In, NotIn, Exists, DoesNotExist)


def _checked_values(values: tuple[str, ...], operator: str) -> tuple[str, ...]:
    example = f'{operator}("value1", "value2")'
    if not values:
        raise ValueError(
            f"The variadic parameter of the {operator} operator must be a non-empty tuple: e.g. {example}."
        )
    for place, value in enumerate(values):
        if not isinstance(value, str):
            raise ValueError(
                f"Type of value in position {place} for the {operator} operator must be str (e.g. {example}) but got "
                f"{value} of type {type(value)}."
            )
    return values


class NodeLabelSchedulingStrategy:
    """Run on a node whose labels meet all conditions of `hard` and, if possible, of `soft`.

    >>> NodeLabelSchedulingStrategy(hard={"zone": In("a", "b")}, soft={"ssd": Exists()})
    """

    def __init__(self, hard: Mapping[str, Any] | None, *, soft: Mapping[str, Any] | None = None) -> None:
        self.hard = _checked_conditions(hard, "hard")
        self.soft = _checked_conditions(soft, "soft")
        if not self.hard and not self.soft:
            raise ValueError("The `hard` and `soft` parameter of NodeLabelSchedulingStrategy cannot both be empty.")

    def hard_pairs(self) -> Pairs:
        """The conditions that must hold: (label, condition)."""
        return [(key, operator.condition()) for key, operator in sorted(self.hard.items())]

    def soft_pairs(self) -> Pairs:
        return [(key, operator.condition()) for key, operator in sorted(self.soft.items())]


def _checked_conditions(conditions: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    if conditions is None:
        return {}
    if not isinstance(conditions, Mapping):
        raise ValueError(
            f'The {name} parameter must be a map (e.g. {{"key1": In("value1")}}) but got type {type(conditions)}.'
        )
    for key, operator in conditions.items():
        if not isinstance(key, str):
            raise ValueError(
                f'The map key of the {name} parameter must be of type str (e.g. {{"key1": In("value1")}}) but got '
                f"{key} of type {type(key)}."
            )
        if not isinstance(operator, _OPERATORS):
            raise ValueError(
                f"The map value for key {key} of the {name} parameter must be one of the `In`, `NotIn`, `Exists` or "
                f'`DoesNotExist` operator (e.g. {{"key1": In("value1")}}) but got {operator} of type {type(operator)}.'
            )
    return dict(conditions)

"""The one request of a Ray cluster, which `ray.autoscaler.sdk.request_resources` replaces: read and written.

A request is a list of bundles, each {"resources": {"GPU": 1.0}, "label_selector": {"zone": "a"}}. Ray's second
autoscaler keeps it in the head's tables, the first one in the head's key-value store.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import ray
from ray.experimental import internal_kv

from nbaccel_in_ray import internals

Bundle = dict[str, dict[str, Any]]
_TIMEOUT_S = 10


def is_second() -> bool:
    """Whether the cluster has Ray's second autoscaler."""
    from ray.autoscaler.v2.utils import is_autoscaler_v2

    return bool(is_autoscaler_v2(fetch_from_server=True))  # what Ray remembers may be of another cluster


def read() -> list[Bundle]:
    """What is asked for now, by whomever."""
    return of_status(status()) if is_second() else _of_the_first()


def read_judged() -> tuple[list[Bundle], list[Bundle]]:
    """What is asked for now, and what the autoscaler says that no nodes can meet; the first one says nothing."""
    if not is_second():
        return _of_the_first(), []
    reply = status()
    return of_status(reply), infeasible(reply)


def write(bundles: list[Bundle]) -> None:
    """Replace the request."""
    if is_second():
        from ray.autoscaler.v2.sdk import request_cluster_resources

        request_cluster_resources(ray.get_runtime_context().gcs_address, bundles, timeout=_TIMEOUT_S)
    else:
        internal_kv._internal_kv_put(
            internals.request_key(), json.dumps([bundle["resources"] for bundle in bundles]), overwrite=True
        )


def status() -> Any:
    """What the second autoscaler knows of the cluster, as Ray's own message."""
    return internals.autoscaler_status(_TIMEOUT_S)


def of_status(reply: Any) -> list[Bundle]:
    """The request in the second autoscaler's message."""
    return _bundles(reply.cluster_resource_state.cluster_resource_constraints)


def infeasible(reply: Any) -> list[Bundle]:
    """The request that no nodes can meet, in the second autoscaler's message."""
    return _bundles(reply.autoscaling_state.infeasible_cluster_resource_constraints)


def _bundles(constraints: Any) -> list[Bundle]:
    bundles: list[Bundle] = []
    for constraint in constraints:
        for each in constraint.resource_requests:
            bundles += [plain(each.request)] * each.count
    return bundles


def plain(request: Any) -> Bundle:
    """A request for resources of Ray's as a bundle."""
    selector = {}
    for each in request.label_selectors:
        for constraint in each.label_constraints:
            selector[constraint.label_key] = _words(constraint)
    return {"resources": dict(request.resources_bundle), "label_selector": selector}


def _words(constraint: Any) -> str:
    """The condition as users write it: "a", "in(a,b)", "!a", "!in(a,b)"."""
    values = sorted(constraint.label_values)
    text = values[0] if len(values) == 1 else f"in({','.join(values)})"
    is_not = (
        constraint.operator
        == type(constraint)
        .DESCRIPTOR.fields_by_name["operator"]
        .enum_type.values_by_name["LABEL_OPERATOR_NOT_IN"]
        .number
    )
    return f"!{text}" if is_not else text


def _of_the_first() -> list[Bundle]:
    asked = internal_kv._internal_kv_get(internals.request_key())
    return [{"resources": bundle, "label_selector": {}} for bundle in json.loads(asked or b"[]")]


def same(left: Iterable[Bundle], right: Iterable[Bundle]) -> bool:
    """Whether two requests ask for the same; Ray keeps no order."""
    return sorted(map(_sortable, left)) == sorted(map(_sortable, right))


def _sortable(bundle: Bundle) -> str:
    resources = {name: float(amount) for name, amount in bundle["resources"].items()}
    return json.dumps([resources, bundle["label_selector"]], sort_keys=True)

"""Asking a cluster to grow. A cluster of fixed size, such as one machine's, stays as it is and says so."""

from __future__ import annotations

from typing import Any

from nbaccel import engine as engines
from nbaccel.handles.option_checks import quantity
from nbaccel.views import sinks

__all__ = ["request_resources"]

MOST_BUNDLES = 100_000


def request_resources(
    num_cpus: int | None = None,
    bundles: list[dict[str, float]] | None = None,
    bundle_label_selectors: list[dict[str, str]] | None = None,
) -> None:
    """Ask for room for so many CPUs and for these bundles; each call replaces the one before.

    As in Ray there is one request in a cluster, the last call of any driver counts, and it outlives its driver:
    `bundles=[]` withdraws it. It is a floor: what the cluster has already counts, whoever uses it.

    Raises RuntimeError before init(), TypeError for the wrong types, ValueError for selectors that are not one for
    each bundle and for quantities that nothing can have.

    >>> request_resources(bundles=[{"GPU": 1}] * 2)
    >>> request_resources(bundles=[])             # withdraws it
    """
    engine = started_for("request_resources()")
    if num_cpus is not None and (not isinstance(num_cpus, int) or isinstance(num_cpus, bool)):
        raise TypeError("num_cpus should be of type int.")
    check_count("num_cpus", num_cpus or 0)
    if bundles is not None and not _is_list_of_dicts(bundles):
        raise TypeError("bundles should be of type List, holding a dict of resources for each bundle.")
    if bundle_label_selectors is not None:
        _check_selectors(bundle_label_selectors, bundles)
    checked = None if bundles is None else checked_bundles(bundles)
    if not engine.request_resources(num_cpus, checked, bundle_label_selectors) and (num_cpus or bundles):
        notify_fixed(engine, "request_resources()")


def started_for(what: str) -> engines.Engine:
    """The engine. Raises RuntimeError before init()."""
    engine = engines.started()
    if engine is None:
        raise RuntimeError(f"{what} needs a cluster: call nbaccel.init() first.")
    return engine


def check_count(option: str, number: int) -> None:
    """Raises ValueError for a number of bundles of one CPU or device that no list could hold."""
    quantity(option, number)
    if number > MOST_BUNDLES:
        raise ValueError(f"{option} cannot be more than {MOST_BUNDLES:,}: it asks for a bundle of its own for each.")


def checked_bundles(bundles: list[dict[str, float]]) -> list[dict[str, float]]:
    """The bundles with plain names and numbers. Raises TypeError, ValueError."""
    return [{str(name): quantity(str(name), amount) or 0.0 for name, amount in bundle.items()} for bundle in bundles]


def notify_fixed(engine: engines.Engine, what: str) -> None:
    """Tell the user that this cluster does not grow."""
    has = " and ".join(f"{engine.cluster_resources().get(name, 0):g} {name}" for name in ("CPU", "GPU"))
    if engine.name == "ray":
        why = (
            f"this Ray cluster has {has}, and nothing makes it larger: its head was started without an autoscaler. A "
            "machine joins it by hand: nbaccel start --address=HOST:6379."
        )
    else:
        why = (
            f"this cluster is one machine with {has}, and it does not grow. With types of virtual nodes it does: "
            "nbaccel.init(node_types={'gpu': {'num_gpus': 1, 'max': 2}}). So does a Ray cluster with an autoscaler: "
            "nbaccel.init(engine='ray', address=...)."
        )
    sinks.installed.notice(sinks.Notice("growing", f"{what} changes nothing: {why}"))


def _is_list_of_dicts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _check_selectors(selectors: Any, bundles: list[dict[str, float]] | None) -> None:
    if not _is_list_of_dicts(selectors) or len(selectors) != len(bundles or ()):
        raise ValueError("`bundle_label_selectors` must be a list with length equal to the number of bundles.")

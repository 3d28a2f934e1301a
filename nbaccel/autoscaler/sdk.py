"""Asking a cluster to grow. A cluster of fixed size, such as one machine's, stays as it is and says so."""

from __future__ import annotations

from typing import Any

from nbaccel import engine as engines
from nbaccel.views import sinks


def request_resources(
    num_cpus: int | None = None,
    bundles: list[dict[str, float]] | None = None,
    bundle_label_selectors: list[dict[str, str]] | None = None,
) -> None:
    """Ask for room for so many CPUs and for these bundles; each call replaces the one before.

    Raises RuntimeError before init(), TypeError for the wrong types, ValueError for selectors that are not one for
    each bundle.
    """
    engine = engines.started()
    if engine is None:
        raise RuntimeError("request_resources() needs a cluster: call nbaccel.init() first.")
    if num_cpus is not None and (not isinstance(num_cpus, int) or isinstance(num_cpus, bool)):
        raise TypeError("num_cpus should be of type int.")
    if bundles is not None and not _is_list_of_dicts(bundles):
        raise TypeError("bundles should be of type List, holding a dict of resources for each bundle.")
    if bundle_label_selectors is not None:
        _check_selectors(bundle_label_selectors, bundles)
    if not engine.request_resources(num_cpus, bundles, bundle_label_selectors) and (num_cpus or bundles):
        sinks.installed.notice(sinks.Notice("growing", _stays_as_it_is(engine.cluster_resources())))


def _stays_as_it_is(resources: dict[str, float]) -> str:
    has = " and ".join(f"{resources.get(name, 0):g} {name}" for name in ("CPU", "GPU"))
    return (
        f"request_resources() changes nothing: this cluster is one machine with {has}, and it does not grow. A Ray "
        "cluster with an autoscaler does: nbaccel.init(engine='ray', address=...)."
    )


def _is_list_of_dicts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _check_selectors(selectors: Any, bundles: list[dict[str, float]] | None) -> None:
    if not _is_list_of_dicts(selectors) or len(selectors) != len(bundles or ()):
        raise ValueError("`bundle_label_selectors` must be a list with length equal to the number of bundles.")

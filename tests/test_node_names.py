"""What nodes are called in every view: the same as in the page (`frontend/tests/node_names.test.js`)."""

from __future__ import annotations

from nbaccel.views.node_tables import node_names
from nbaccel.views.snapshot import NodeRow


def _names(*names: str) -> list[str]:
    return list(node_names([NodeRow(f"n{at}", name) for at, name in enumerate(names)]).values())


def test_a_node_is_called_by_its_name_without_a_domain_and_an_address_is_whole() -> None:
    told = ["gpu-3.cluster.example.org", "10.0.12.34", "fe80::1", "box"]
    assert _names(*told) == ["gpu-3", "10.0.12.34", "fe80::1", "box"]
    assert _names("gpu.east.org", "gpu.west.org", "cpu.west.org") == ["gpu.east.org", "gpu.west.org", "cpu"]


def test_of_a_long_name_the_end_is_kept_which_tells_it_from_others() -> None:
    assert _names("raycluster-kuberay-worker-gpu-group-x7k2p") == ["raycluster-ku…roup-x7k2p"]
    assert _names("x" * 24) == ["x" * 24] and len(_names("y" * 300)[0]) == 24

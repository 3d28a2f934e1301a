"""Where objects lie."""

import pytest

import nbaccel
from nbaccel.experimental import get_object_locations
from tests.rig import Gate

LARGE = bytes(1_000_000)


def test_it_needs_a_cluster():
    with pytest.raises(RuntimeError, match="init"):
        get_object_locations([])


def test_large_objects_lie_on_a_node_and_small_ones_on_none():
    nbaccel.init(num_cpus=2)
    try:
        gate = Gate.remote()
        large, small, pending = nbaccel.put(LARGE), nbaccel.put(1), gate.wait.remote()
        found = get_object_locations([large, small, pending])
        assert found[large]["node_ids"] == [nbaccel.nodes()[0]["NodeID"]]
        assert found[large]["object_size"] >= len(LARGE) and found[large]["did_spill"] is False
        assert found[small]["node_ids"] == [] and found[small]["object_size"] > 0
        assert found[pending] == {"node_ids": [], "object_size": None, "did_spill": False}
        nbaccel.get(gate.open.remote())
    finally:
        nbaccel.shutdown()

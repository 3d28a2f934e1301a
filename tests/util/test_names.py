"""What can be imported from nbaccel.util, and what that costs."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

import nbaccel.util

NAMES = ["ActorPool", "as_completed", "map_unordered", "inspect_serializability", "register_serializer",
         "deregister_serializer", "list_named_actors", "get_node_ip_address"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_rays_names_are_there(name):
    assert callable(getattr(nbaccel.util, name))
    assert name in dir(nbaccel.util)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'actor_pol'"):
        _ = nbaccel.util.actor_pol


@pytest.mark.skipif(find_spec("nbaccel.util.placement_group") is None, reason="there are no placement groups yet")
def test_placement_group_is_the_function_also_after_its_module_was_imported():
    code = (
        "import nbaccel.util.placement_group, nbaccel.util\n"
        "from nbaccel.util.placement_group import placement_group\n"
        "assert nbaccel.util.placement_group is placement_group, nbaccel.util.placement_group"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_util_loads_none_of_its_rooms():
    code = "import sys, nbaccel.util; assert not [m for m in sys.modules if m.startswith('nbaccel.util.')]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_address_of_this_machine_is_known():
    assert nbaccel.util.get_node_ip_address().count(".") == 3


def test_this_nodes_address_is_the_one_that_its_resources_name():
    here = nbaccel.util.get_node_ip_address()
    assert here == nbaccel.nodes()[0]["NodeManagerAddress"]
    assert f"node:{here}" in nbaccel.cluster_resources()

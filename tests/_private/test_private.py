"""The names that are private to Ray and that programs of others import: they say here what they say in Ray."""

import logging
import re

import pytest

import nbaccel as ray
from nbaccel import exceptions
from nbaccel.util.placement_group import placement_group, remove_placement_group


@pytest.fixture(scope="module")
def cluster():
    yield ray.init(num_cpus=2, num_gpus=2, namespace="tests")
    ray.shutdown()


@ray.remote(num_cpus=0)
class Member:
    def about(self):
        worker = ray._private.worker.global_worker
        return worker.mode, worker.actor_name, worker.actor_id.hex(), worker.current_task_name


def test_what_each_node_has_and_has_free_is_told_by_its_id(cluster):
    group = placement_group([{"GPU": 1}])
    ray.get(group.ready())
    (node_id,) = [row["NodeID"] for row in ray.nodes()]
    assert ray._private.state.available_resources_per_node()[node_id]["GPU"] == 1
    assert ray._private.state.total_resources_per_node()[node_id]["GPU"] == 2
    row = ray._private.state.state.placement_group_table(group.id)
    assert row["bundles_to_node_id"] == {0: node_id} and row["state"] == "CREATED"
    assert group.id.hex() in ray._private.state.state.placement_group_table()
    remove_placement_group(group)


def test_actors_are_rows_with_rays_keys(cluster):
    member = Member.options(name="bob").remote()
    mode, name, actor_id, task = ray.get(member.about.remote())
    assert (mode, name, actor_id, task) == (ray.WORKER_MODE, "bob", member._actor_id.hex(), "Member.about")
    row = ray._private.state.actors(actor_id)
    assert (row["ActorClassName"], row["Name"], row["State"]) == ("Member", "bob", "ALIVE")
    assert row["Address"]["NodeID"] == ray.nodes()[0]["NodeID"]
    assert ray._private.state.actors(actor_state_name="DEAD").get(actor_id) is None
    assert ray._private.state.actors("00" * 16) == {}


def test_the_worker_of_a_driver_has_a_mode_and_nil_ids(cluster):
    worker = ray._private.worker.global_worker
    assert worker.mode == ray.SCRIPT_MODE and worker.connected and worker.namespace == "tests"
    assert worker.actor_id.is_nil() and worker.current_task_id.is_nil() and worker.placement_group_id.is_nil()
    assert worker.current_node_id.hex() == ray.nodes()[0]["NodeID"] and len(worker.worker_id) == 28
    assert isinstance(cluster, ray._private.worker.BaseContext)


def test_this_nodes_address_is_the_hosts_wherever_it_is_asked(cluster):
    address = ray._private.services.get_node_ip_address()
    assert address == ray.util.get_node_ip_address() == ray.nodes()[0]["NodeManagerAddress"]
    assert ray._private.state.current_node_id() == f"node:{address}" in ray.cluster_resources()
    assert ray._private.state.jobs()[0]["DriverIPAddress"] == address


def test_a_tasks_traceback_is_told_without_the_frame_that_called_it():
    told = ray._private.utils.format_error_message("Traceback\n  File worker\n    call()\n  File user", True)
    assert told == "Traceback\n  File user"


def test_a_private_name_that_is_not_kept_says_which_ones_are():
    with pytest.raises(AttributeError, match=r"no _private\.gcs_utils: .*services, state, utils, worker"):
        _ = ray._private.gcs_utils


def test_without_a_cluster_there_is_no_mode_and_the_tables_say_so():
    ray.shutdown()
    assert ray._private.worker.global_worker.mode is None
    with pytest.raises(exceptions.RaySystemError, match=re.escape("nbaccel.init()")):
        ray._private.state.actors()


def test_older_names_of_two_private_modules_are_attributes(cluster):
    member = Member.remote()
    ray.get(member.about.remote())
    assert ray.state.actors(actor_id=member._actor_id.hex())["ActorClassName"] == "Member"
    assert ray.worker.global_worker is ray._private.worker.global_worker
    assert ray.worker.get_dashboard_url() is None
    ray._private.worker.blocking_get_inside_async_warned = True


def test_values_that_programs_read_mean_what_they_mean_in_ray(cluster):
    constants = ray._private.ray_constants
    assert len(ray.put(1).binary()) == constants.ID_SIZE
    least = constants.MIN_RESOURCE_GRANULARITY

    @ray.remote(num_cpus=least)
    def small():
        return logging.Formatter(constants.LOGGER_FORMAT).format(logging.makeLogRecord({"msg": "ran"}))

    assert ray.get(small.remote()).endswith("-- ran")


def test_the_values_are_rays():
    rays = pytest.importorskip("ray._private.ray_constants")
    own = vars(ray._private.ray_constants)
    names = [name for name in own if name.isupper()]
    assert names and {name: own[name] for name in names} == {name: getattr(rays, name) for name in names}

"""Ranks and devices of a worker group, on machines that are only described."""

from __future__ import annotations

from nbaccel.train.ranks import Facts, Seat, seats

CUDA = {"CUDA_VISIBLE_DEVICES": "GPU"}


def worker(*ids: str, node: str = "a", variable: str | None = None, entries: str | None = None) -> Facts:
    seen = entries if entries is not None else ",".join(ids)
    name = variable or "CUDA_VISIBLE_DEVICES"
    return Facts(
        node, "10.0.0.1", node, 1, {"GPU": list(ids)} if ids else {}, {name: seen}, {name: "GPU"} if ids else {}
    )


def indices(found: list[Seat]) -> list[list[int]]:
    return [seat.device_index["GPU"] for seat in found]


def test_two_workers_see_each_others_device() -> None:
    found = seats([worker("1"), worker("0")], {})
    assert [seat.worker for seat in found] == [1, 0]
    assert [seat.variables for seat in found] == [{"CUDA_VISIBLE_DEVICES": "0,1"}] * 2
    assert indices(found) == [[0], [1]] and not any(seat.shared for seat in found)


def test_without_sharing_each_sees_its_own_alone() -> None:
    found = seats([worker("0"), worker("1")], {}, share=False)
    assert [seat.variables["CUDA_VISIBLE_DEVICES"] for seat in found] == ["0", "1"]
    assert indices(found) == [[0], [0]]


def test_two_devices_each() -> None:
    assert indices(seats([worker("0", "1"), worker("2", "3")], {})) == [[0, 1], [2, 3]]
    assert indices(seats([worker("2", "3")], {})) == [[0, 1]]


def test_halves_of_a_device_are_one_device_that_is_shared() -> None:
    found = seats([worker(str(number // 2)) for number in range(8)], {})
    assert indices(found) == [[0], [0], [1], [1], [2], [2], [3], [3]]
    assert all(seat.shared and seat.variables["CUDA_VISIBLE_DEVICES"] == "0,1,2,3" for seat in found)


def test_sixteen_devices_are_in_the_order_of_numbers() -> None:
    found = seats([worker(str(number)) for number in reversed(range(16))], {})
    assert found[0].variables["CUDA_VISIBLE_DEVICES"] == ",".join(map(str, range(16)))
    assert indices(found) == [[number] for number in range(16)]
    assert [seat.facts.device_ids["GPU"] for seat in found] == [[str(number)] for number in range(16)]


def test_devices_with_names_are_in_the_order_of_the_nodes_table() -> None:
    table = {("a", "GPU", "MIG-z"): 0, ("a", "GPU", "MIG-a"): 1}
    found = seats([worker("MIG-a"), worker("MIG-z")], table)
    assert found[0].variables["CUDA_VISIBLE_DEVICES"] == "MIG-z,MIG-a"
    assert [seat.worker for seat in found] == [1, 0]


def test_nodes_follow_each_other_and_the_drivers_comes_first() -> None:
    worker_group = [worker("0", node="a"), worker("0", node="b"), worker("1", node="a"), worker("1", node="b")]
    found = seats(worker_group, {}, driver_node="b")
    assert [(seat.facts.node_id, seat.local_rank, seat.node_rank) for seat in found] == [
        ("b", 0, 0),
        ("b", 1, 0),
        ("a", 0, 1),
        ("a", 1, 1),
    ]
    assert {(seat.world_size, seat.local_world_size, seat.nodes) for seat in found} == {(4, 2, 2)}
    assert all(seat.variables["CUDA_VISIBLE_DEVICES"] == "0,1" for seat in found)


def test_workers_without_a_device_keep_their_order() -> None:
    found = seats([worker(), worker(), worker()], {})
    assert [seat.worker for seat in found] == [0, 1, 2]
    assert all(not seat.variables and not seat.device_index for seat in found)


def test_other_vendors_variables_are_shared_in_the_same_way() -> None:
    found = seats([worker("0", variable="ROCR_VISIBLE_DEVICES"), worker("1", variable="ROCR_VISIBLE_DEVICES")], {})
    assert found[1].variables == {"ROCR_VISIBLE_DEVICES": "0,1"} and found[1].device_index == {"GPU": [1]}


def test_a_variable_that_was_left_as_the_user_set_it_stays() -> None:
    found = seats([worker("2", entries="0,1,2,3"), worker("3", entries="0,1,2,3")], {})
    assert [seat.variables for seat in found] == [{}, {}]
    assert indices(found) == [[2], [3]]

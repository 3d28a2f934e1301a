"""Collective operations between actors."""

import numpy as np
import pytest

import nbaccel
from nbaccel.util import collective

pytest.importorskip("torch", reason="torch is not installed")


@nbaccel.remote(num_cpus=0)
class Member:
    def join(self, size, rank, name="default"):
        collective.init_collective_group(size, rank, "gloo", name)
        return collective.get_rank(name), collective.get_collective_group_size(name)

    def reduced(self, op):
        mine = np.array([1.0, 2.0]) * (collective.get_rank() + 1)
        collective.allreduce(mine, op=op)
        return mine.tolist()

    def reduced_to_the_last(self):
        mine = np.array([collective.get_rank() + 1.0])
        collective.reduce(mine, dst_rank=1)
        return mine.tolist()

    def told_by_the_first(self):
        import torch

        mine = torch.full((2,), float(collective.get_rank() + 5))
        collective.broadcast(mine, src_rank=0)
        return mine.tolist()

    def gathered(self):
        everyone = [np.zeros(1) for _ in range(2)]
        collective.allgather(everyone, np.array([collective.get_rank() * 10.0]))
        return [each.tolist() for each in everyone]

    def scattered(self):
        mine = np.zeros(1)
        collective.reducescatter(mine, [np.array([1.0]), np.array([2.0])])
        return mine.tolist()

    def passed_on(self):
        collective.barrier()
        mine = np.array([collective.get_rank() + 7.0])
        collective.send(mine, 1) if collective.get_rank() == 0 else collective.recv(mine, 0)
        return mine.tolist()

    def rank_in(self, name):
        return collective.get_rank(name), collective.is_group_initialized(name)

    def leave(self, name):
        collective.destroy_collective_group(name)
        return collective.get_rank(name)

    def refused(self, what):
        refusals = {
            "read-only": lambda: collective.allreduce(nbaccel.get(nbaccel.put(np.zeros(3)))),
            "Unrecognized tensor type": lambda: collective.allreduce([1, 2]),
            "cannot send to itself": lambda: collective.send(np.zeros(1), collective.get_rank()),
            "rank 9 is not one of": lambda: collective.broadcast(np.zeros(1), 9),
            "a list of 2 tensors": lambda: collective.allgather([np.zeros(1)], np.zeros(1)),
            "is not initialized": lambda: collective.allreduce(np.zeros(1), "nobody"),
            "in the group 'default' already": lambda: collective.init_collective_group(2, 0, "gloo"),
            "below world_size": lambda: collective.init_collective_group(2, 2, "gloo"),
            "Only NCCL and GLOO": lambda: collective.init_collective_group(2, 0, "mpi"),
        }
        with pytest.raises((ValueError, RuntimeError), match=what):
            refusals[what]()
        return list(refusals)


@pytest.fixture(scope="module")
def members(engine):
    members = [Member.remote() for _ in range(2)]
    joined = nbaccel.get([member.join.remote(2, rank) for rank, member in enumerate(members)])
    assert joined == [(0, 2), (1, 2)]
    return members


def _each(members, name, *arguments):
    return nbaccel.get([getattr(member, name).remote(*arguments) for member in members])


@pytest.mark.parametrize(("op", "result"), [("SUM", [3, 6]), ("PRODUCT", [2, 8]), ("MIN", [1, 2]), ("MAX", [2, 4])])
def test_all_get_what_is_reduced(members, op, result):
    assert _each(members, "reduced", collective.ReduceOp[op]) == [result, result]


def test_only_the_destination_gets_what_is_reduced_to_it(members):
    assert _each(members, "reduced_to_the_last") == [[1], [3]]


def test_tensors_go_from_one_to_all_and_from_all_to_all(members):
    assert _each(members, "told_by_the_first") == [[5, 5], [5, 5]]
    assert _each(members, "gathered") == [[[0], [10]], [[0], [10]]]
    assert _each(members, "scattered") == [[2], [4]]


def test_one_sends_and_the_other_receives(members):
    assert _each(members, "passed_on") == [[7], [7]]


def test_a_group_can_be_made_from_outside_and_made_again_when_it_was_left(members):
    for ranks in ([1, 0], [0, 1]):
        collective.create_collective_group(members, 2, ranks, "gloo", "second")
        assert _each(members, "rank_in", "second") == [(rank, True) for rank in ranks]
        assert _each(members, "leave", "second") == [-1, -1]


def test_what_cannot_be_meant_is_refused_in_words(members):
    words = nbaccel.get(members[0].refused.remote("read-only"))
    nbaccel.get([members[0].refused.remote(each) for each in words])


def test_a_driver_is_in_no_group():
    with pytest.raises(RuntimeError, match="only used inside an actor or task"):
        collective.allreduce(np.zeros(1))


@pytest.mark.parametrize(("ranks", "words"), [([0], "one rank"), ([0, 2], "permutation of 0 to 1")])
def test_ranks_that_do_not_fit_are_refused(ranks, words):
    with pytest.raises(RuntimeError, match=words):
        collective.create_collective_group([None, None], 2, ranks, "gloo")

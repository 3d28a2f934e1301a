"""Choices, probes and reasons, on every engine."""

from __future__ import annotations

import pytest

import nbaccel
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from tests.rig import wait_until


class NoRoom(RuntimeError):
    """What a device's own code raises."""


@nbaccel.remote(num_gpus=1, fallback="cpu", fallback_on=NoRoom, max_retries=0)
def grow(where):
    with open(where, "a") as file:
        file.write("x")
    if nbaccel.get_gpu_ids():
        raise NoRoom("tried to allocate 80 GiB")
    return nbaccel.get_runtime_context().fallback_taken


def test_an_error_of_the_device_is_answered_by_the_next_choice(nb, tmp_path):
    nb.snapshot()  # on Ray, tasks report once somebody has asked
    ref = grow.remote(str(tmp_path / "marks"))
    assert nb.get(ref) is True
    assert (tmp_path / "marks").read_text() == "xx"

    def fallen():
        return [row for row in nb.snapshot().tasks if row.task_id == ref.task_id().hex() and row.choice]

    (row,) = wait_until(fallen)
    assert (row.choice, row.attempt) == ("cpu", 1)
    assert row.choice_why == "cpu was taken, because the choice before raised NoRoom: tried to allocate 80 GiB"


def test_an_error_that_no_choice_answers_is_the_users(nb, tmp_path):
    with pytest.raises(NoRoom, match="80 GiB") as error:
        nb.get(grow.options(fallback_on=KeyError).remote(str(tmp_path / "marks")))
    assert isinstance(error.value, nb.exceptions.RayTaskError)
    assert "grow" in str(error.value).splitlines()[0]
    assert "supervise" not in str(error.value)
    with pytest.raises(NoRoom, match="80 GiB"):
        nb.get(grow.options(fallback=None).remote(str(tmp_path / "marks")))
    assert (tmp_path / "marks").read_text() == "xx"


def test_when_the_last_choice_fails_its_error_is_the_result(nb):
    @nb.remote(num_gpus=1, fallback=[{"num_gpus": 0.5}], fallback_on=(NoRoom,))
    def always():
        raise NoRoom(nbaccel.get_runtime_context().fallback_choice)

    with pytest.raises(NoRoom, match=r"'num_gpus': 0\.5"):
        nb.get(always.remote())


def test_a_stream_falls_back_until_it_has_yielded(nb):
    @nb.remote(num_gpus=1, fallback="cpu", fallback_on=NoRoom)
    def stream(early):
        if early and nbaccel.get_gpu_ids():
            raise NoRoom("at once")
        yield from [len(nbaccel.get_gpu_ids())]  # a list's iterator takes nothing that is sent in
        if not early:
            raise NoRoom("in the middle")

    assert [nb.get(ref) for ref in stream.remote(True)] == [0]
    items = stream.remote(False)
    assert nb.get(next(items)) == 1
    with pytest.raises(NoRoom):
        nb.get(next(items))


def test_another_function_runs_for_the_fallback_and_is_enough_to_fall_back(nb):
    @nb.remote(num_gpus=3)
    def on_device(values):
        return "device", [2 * value for value in values]

    @on_device.fallback
    def on_cpu(values):
        return "cpu", [value + value for value in values]

    assert nb.get(on_device.remote([1.0, 2.0])) == ("cpu", [2.0, 4.0])
    assert nb.get(on_device.options(fallback="cpu").remote([1.0])) == ("cpu", [2.0])
    assert nb.get(on_device.options(num_gpus=1).remote([1.0])) == ("device", [2.0])


def test_choices_are_tried_in_order(nb):
    @nb.remote(num_gpus=3, fallback=[{"resources": {"NPU": 1}}, {"num_gpus": 0.5}, {"num_cpus": 2}])
    def where():
        context = nbaccel.get_runtime_context()
        return context.fallback_choice, context.get_assigned_resources()

    assert nb.get(where.remote()) == ("{'num_gpus': 0.5}", {"CPU": 1.0, "GPU": 0.5})


def test_an_actor_whose_constructor_fails_on_the_device_is_made_without_it(nb, tmp_path):
    @nb.remote(num_gpus=1, fallback="cpu", fallback_on=NoRoom)
    class Picky:
        def __init__(self):
            with open(tmp_path / "marks", "a") as file:
                file.write("x")
            if nbaccel.get_gpu_ids():
                raise NoRoom("of the device")

        def fell(self):
            return nbaccel.get_runtime_context().fallback_taken

    picky = Picky.remote()
    assert nb.get(picky.fell.remote()) is True
    assert (tmp_path / "marks").read_text() == "xx"

    def fallen():
        return [row for row in nb.snapshot().actors if row.class_name == "Picky" and row.choice]

    (row,) = wait_until(fallen)
    assert row.choice_why == "cpu was taken, because the choice before raised NoRoom: of the device"
    assert wait_until(lambda: nb.probe(num_gpus=2)), "its devices are free again"
    nb.kill(picky)


def test_a_probe_says_what_a_request_would_meet(nb):
    assert wait_until(lambda: nb.probe(num_gpus=2))
    assert nb.probe(num_cpus=1).asks == "1 CPU"
    assert nb.probe(memory=1 << 20).asks == "1 CPU and 1 MiB of memory"
    assert nb.probe(memory=1 << 46).verdict.name == "NEVER"
    assert nb.probe(label_selector={"zone": "moon"}).verdict.name == "NEVER"
    here = NodeAffinitySchedulingStrategy(nb.nodes()[0]["NodeID"], soft=False)
    assert wait_until(lambda: nb.probe(num_cpus=1, scheduling_strategy=here))
    elsewhere = NodeAffinitySchedulingStrategy("ab" * 28, soft=False)
    assert nb.probe(num_cpus=1, scheduling_strategy=elsewhere).verdict.name == "NEVER"
    never = nb.probe(num_gpus=3)
    assert never.verdict.name == "NEVER"
    assert "2 GPUs" in never.sentence
    assert nb.probe(resources={"blue": 3}).verdict.name == "NEVER"


def test_a_probe_proves_that_the_device_works(nb):
    assert nb.probe(num_gpus=1, verify=lambda: 40 + 2).value == 42

    def broken():
        raise NoRoom("no driver")

    answer = nb.probe(num_gpus=1, verify=broken)
    assert (answer.verdict.name, isinstance(answer.error, NoRoom)) == ("BROKEN", True)


@nbaccel.remote(num_gpus=3, fallback="cpu")
class Kept:
    def held(self):
        return nbaccel.get_runtime_context().get_assigned_resources()


def test_the_snapshot_says_which_choice_was_taken_and_what_an_actor_holds_on_it(nb):
    kept = Kept.remote()
    held = nb.get(kept.held.remote())

    def chosen():
        return [
            row for row in nb.snapshot().actors if (row.class_name, row.state, row.choice) == ("Kept", "ALIVE", "cpu")
        ]

    (row,) = wait_until(chosen)
    assert "GPU" in row.choice_why
    assert row.demand == held
    nb.kill(kept)


def test_the_snapshot_says_which_choice_a_task_took(nb):
    @nb.remote(num_gpus=3, fallback="cpu")
    def falls():
        return nbaccel.get_runtime_context().fallback_choice

    nb.snapshot()  # on Ray, tasks report once somebody has asked
    assert nb.get(falls.remote()) == "cpu"

    (row,) = wait_until(lambda: [row for row in nb.snapshot().tasks if (row.name, row.choice) == ("falls", "cpu")])
    assert "GPU" in row.choice_why

"""Objects: where they are, who holds them, when they go, and what happens when there is no room."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions
from tests.census import Place, carriers
from tests.heads import rows
from tests.local_engine import sharing
from tests.rig import Gate, wait_until

MIB = 1 << 20


def arena_bytes() -> int:
    """How much of the store is taken."""
    return sum(row["object_size"] for row in rows("objects") if row["place"] == "shared memory")


# ---- refs


def test_a_put_is_gone_with_its_last_ref(cluster: Place) -> None:
    ref = nbaccel.put("value")
    assert [row["object_id"] for row in rows("objects")] == [ref.hex()]
    del ref
    wait_until(lambda: not rows("objects"))


def test_refs_inside_a_value_are_kept_alive_by_it(cluster: Place) -> None:
    outer = nbaccel.put([nbaccel.put("inner"), {"deep": nbaccel.put("deeper")}])
    gc.collect()
    first, rest = nbaccel.get(outer)
    assert nbaccel.get([first, rest["deep"]]) == ["inner", "deeper"]
    del outer
    gc.collect()
    assert nbaccel.get([first, rest["deep"]]) == ["inner", "deeper"]


def test_refs_inside_a_result_outlive_the_worker_that_made_them(cluster: Place) -> None:
    refs = nbaccel.get(sharing.put_in_list.options(num_gpus=1).remote(5))
    assert nbaccel.get(refs) == [0, 1, 2, 3, 4]


def _returned(gate: Any) -> Any:
    return nbaccel.get(sharing.return_child.remote(gate))[1]


def _yielded(gate: Any) -> Any:
    return nbaccel.get(sharing.yield_child.remote(gate)[0])[1]


def _raised(gate: Any) -> Any:
    with pytest.raises(sharing.HoldsRefs) as caught:
        nbaccel.get(sharing.raise_child.remote(gate))
    child = caught.value.args[1]
    del caught
    return child


def _of_a_coroutine(gate: Any) -> Any:
    return nbaccel.get(sharing.Parent.remote().child.remote(gate))[1]


@pytest.mark.parametrize("child_of", [_returned, _yielded, _raised, _of_a_coroutine])
def test_a_ref_in_a_result_outlives_the_result_in_its_worker(cluster: Place, child_of: Callable[[Any], Any]) -> None:
    """The worker lets go of the value before it says what has come of the task."""
    gate = Gate.remote()
    child = child_of(gate)
    nbaccel.get(gate.open.remote())
    assert nbaccel.get(child) == "done"


def test_a_ref_that_an_actor_keeps_lives_until_it_lets_go(cluster: Place) -> None:
    keeper = sharing.Keeper.remote()
    ref = nbaccel.put("kept")
    nbaccel.get(keeper.keep.remote([ref]))
    del ref
    gc.collect()
    assert nbaccel.get(keeper.value.remote()) == "kept"
    nbaccel.get(keeper.drop.remote())
    wait_until(lambda: not any(row["place"] == "inline" for row in rows("objects")), "the kept object's end")


def test_what_a_dead_actor_held_is_let_go(cluster: Place) -> None:
    keeper = sharing.Keeper.remote()
    nbaccel.get(keeper.keep.remote([nbaccel.put(numpy.ones(MIB))]))
    assert arena_bytes() >= 8 * MIB
    nbaccel.kill(keeper)
    wait_until(lambda: arena_bytes() == 0, "the dead actor's object to go")


def test_a_failed_future_is_no_cycle_that_keeps_its_ref(cluster: Place) -> None:
    """A worker that rests collects no garbage, so it would keep the object for ever."""

    @nbaccel.remote(max_retries=0)
    def fail() -> None:
        raise ValueError("on purpose")

    gc.disable()
    try:
        future = fail.remote().future()
        assert isinstance(future.exception(60), ValueError)
        gone = weakref.ref(future)
        del future
        wait_until(lambda: gone() is None, "the future's end without the collector of garbage")
        wait_until(lambda: not rows("objects"), "the end of the error's object")
    finally:
        gc.enable()


def test_an_argument_lives_until_its_task_has_ended(cluster: Place) -> None:
    results = [sharing.total.remote(nbaccel.put(numpy.ones(MIB // 8))) for _ in range(4)]
    gc.collect()
    assert nbaccel.get(results) == [MIB // 8] * 4


def test_a_ref_passed_down_many_tasks_is_the_same_object(cluster: Place) -> None:
    ref = nbaccel.put("treasure")
    assert nbaccel.get(sharing.pass_down.remote([ref], 5)) == ("treasure", ref.hex())


def test_an_object_whose_refs_are_gone_is_lost_in_words(cluster: Place) -> None:
    ref = nbaccel.put(1)
    id = ref.binary()
    del ref
    wait_until(lambda: not rows("objects"))
    engine: Any = engines.started()
    with pytest.raises(exceptions.ObjectLostError, match=f"{id.hex()}.*does not exist any more"):
        engine.get([nbaccel.ObjectRef(id, engine)], None)


# ---- large values


def test_large_arrays_are_read_only_views_without_a_copy(cluster: Place) -> None:
    ref = nbaccel.put(numpy.arange(MIB))
    first, second = nbaccel.get(ref), nbaccel.get(ref)
    assert first[-1] == MIB - 1
    assert not first.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    assert numpy.shares_memory(first, second)


def test_room_is_used_again_only_after_the_last_view_has_gone(cluster: Place) -> None:
    refs = [nbaccel.put(numpy.full(2 * MIB, i, dtype=numpy.uint8)) for i in range(8)]
    views = [nbaccel.get(ref)[::2] for ref in refs]  # each view of a view keeps its array's memory
    del refs
    gc.collect()
    wait_until(lambda: not rows("objects"))
    others = [nbaccel.put(numpy.full(2 * MIB, 100 + i, dtype=numpy.uint8)) for i in range(8)]
    assert [set(view.tolist()) for view in views] == [{i} for i in range(8)]
    del views
    assert [nbaccel.get(other)[0] for other in others] == list(range(100, 108))


def test_a_store_that_is_filled_again_and_again_never_grows(cluster: Place) -> None:
    for i in range(40):
        ref = nbaccel.put(numpy.full(10 * MIB, i, dtype=numpy.uint8))
        assert nbaccel.get(ref)[0] == i
        assert nbaccel.get(sharing.first.remote(ref)) == i
    del ref


def test_large_arguments_and_results_go_through_the_store(cluster: Place) -> None:
    array = numpy.arange(MIB)
    result = nbaccel.get(sharing.double.remote(array))
    assert (result == array * 2).all()
    keyword = nbaccel.get(sharing.double.remote(array=array))
    assert (keyword == result).all()


def test_a_view_in_a_worker_survives_the_drivers_release(cluster: Place) -> None:
    keeper = sharing.Keeper.remote()
    ref = nbaccel.put(numpy.full(MIB, 7))
    nbaccel.get(keeper.keep_value.remote(ref))
    del ref
    gc.collect()
    for _ in range(12):
        nbaccel.put(numpy.zeros(4 * MIB, dtype=numpy.uint8))
    assert nbaccel.get(keeper.sum.remote()) == 7 * MIB


def test_buffers_of_every_shape_come_back_equal(cluster: Place) -> None:
    values = [
        b"x" * 300_000,
        bytearray(b"y" * 300_000),
        "ü" * 300_000,
        numpy.zeros((0, 5)),
        numpy.asfortranarray(numpy.arange(90_000.0).reshape(300, 300)),
        numpy.arange(200_000)[::3],
        numpy.array([object, None, "a"], dtype=object)[1:],
        [numpy.arange(i) for i in range(2_000)],
        {"a": numpy.ones(100_000), "b": [numpy.ones(100_000, dtype=bool)]},
        memoryview(b"z" * 200_000).tobytes(),
    ]
    for value, back in zip(values, nbaccel.get([nbaccel.put(value) for value in values]), strict=True):
        numpy.testing.assert_equal(back, value)
    for value, back in zip(values, nbaccel.get([sharing.same.remote(value) for value in values]), strict=True):
        numpy.testing.assert_equal(back, value)


def test_ten_thousand_refs_in_one_call(cluster: Place) -> None:
    refs = [nbaccel.put(i) for i in range(10_000)]
    assert nbaccel.get(sharing.sum_of_list.remote(refs)) == sum(range(10_000))
    assert nbaccel.get(sharing.sum_of_all.remote(*refs)) == sum(range(10_000))
    assert sum(nbaccel.get(refs)) == sum(range(10_000))
    ready, waiting = nbaccel.wait(refs, num_returns=10_000)
    assert (len(ready), waiting) == (10_000, [])


def test_deeply_nested_values_survive(cluster: Place) -> None:
    value: Any = nbaccel.put("bottom")
    for _ in range(150):
        value = [value]
    back = nbaccel.get(sharing.same.remote(value))
    for _ in range(150):
        (back,) = back
    assert nbaccel.get(back) == "bottom"
    chain = nbaccel.put("end")
    for _ in range(100):
        chain = nbaccel.put([chain])
    for _ in range(100):
        (chain,) = nbaccel.get(chain)
    assert nbaccel.get(chain) == "end"


def test_tasks_that_submit_tasks_to_any_depth_do_not_wait_for_their_own_cpu(cluster: Place) -> None:
    assert nbaccel.get(sharing.depth.remote(12)) == 12


def test_many_threads_may_use_the_driver_at_once(cluster: Place) -> None:
    errors: list[BaseException] = []
    actor = sharing.Keeper.remote()

    def work(number: int) -> None:
        try:
            for i in range(30):
                array = numpy.full(200_000, number, dtype=numpy.uint8)
                ref = nbaccel.put(array)
                assert nbaccel.get(sharing.first.remote(ref)) == number
                assert nbaccel.get(sharing.same.options(name=f"task {number}-{i}").remote((number, i))) == (number, i)
                assert nbaccel.get(actor.echo.remote((number, i))) == (number, i)
                assert (nbaccel.get(ref) == number).all()
                ready, _ = nbaccel.wait([sharing.same.remote(1), ref], num_returns=2)
                assert len(ready) == 2
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


# ---- no room


def test_what_does_not_fit_goes_to_disk_and_comes_back(cluster: Place) -> None:
    refs = [nbaccel.put(numpy.full(8 * MIB, i, dtype=numpy.uint8)) for i in range(20)]  # 160 MiB in 64
    places = [row["place"] for row in rows("objects")]
    assert "disk" in places
    assert arena_bytes() <= 64 * MIB
    for i, ref in enumerate(refs):
        assert nbaccel.get(ref)[-1] == i
    assert nbaccel.get([sharing.first.remote(ref) for ref in refs]) == list(range(20))
    del refs, ref
    gc.collect()
    wait_until(lambda: not list(Path(spill_directory()).glob("*")), "the spilled files to go")


def spill_directory() -> str:
    engine: Any = engines.started()
    return os.path.join(engine.welcome.directory, "spilled")


def test_a_task_whose_arguments_are_on_disk_gets_them_all(cluster: Place) -> None:
    refs = [nbaccel.put(numpy.full(20 * MIB, i, dtype=numpy.uint8)) for i in range(8)]
    assert nbaccel.get(sharing.firsts.remote(*refs[:3])) == [0, 1, 2]
    assert nbaccel.get(sharing.firsts.remote(*refs[5:])) == [5, 6, 7]


def test_calls_of_an_actor_keep_their_order_when_arguments_come_from_disk(cluster: Place) -> None:
    actor = sharing.Keeper.remote()
    large = [nbaccel.put(numpy.full(16 * MIB, i, dtype=numpy.uint8)) for i in range(8)]
    for i, ref in enumerate(large):
        actor.note.remote(ref)
        actor.note.remote(100 + i)
    order = nbaccel.get(actor.notes.remote())
    assert order == [number for i in range(8) for number in (i, 100 + i)]


def test_a_value_larger_than_the_store_is_refused_in_words(cluster: Place) -> None:
    with pytest.raises(exceptions.ObjectStoreFullError, match=r"0\.10 GiB does not fit .*object_store_memory"):
        nbaccel.put(numpy.zeros(100 * MIB, dtype=numpy.uint8))
    with pytest.raises(exceptions.ObjectStoreFullError, match="does not fit"):
        nbaccel.get(sharing.zeros.remote(100 * MIB))
    with pytest.raises(exceptions.ObjectStoreFullError, match="does not fit"):
        sharing.first.remote(numpy.zeros(100 * MIB, dtype=numpy.uint8))


def test_a_store_full_of_arrays_in_use_says_so_and_recovers(cluster: Place) -> None:
    arrays = [nbaccel.get(nbaccel.put(numpy.zeros(15 * MIB, dtype=numpy.uint8))) for _ in range(4)]
    with pytest.raises(exceptions.ObjectStoreFullError, match="objects that processes are using"):
        nbaccel.put(numpy.zeros(15 * MIB, dtype=numpy.uint8))
    del arrays
    assert nbaccel.get(nbaccel.put(numpy.ones(15 * MIB, dtype=numpy.uint8)))[0] == 1


def test_a_killed_mover_is_replaced_and_nothing_is_lost(cluster: Place) -> None:
    refs = [nbaccel.put(numpy.full(8 * MIB, i, dtype=numpy.uint8)) for i in range(12)]
    killed = set()
    for i in range(12):
        for pid, title in carriers(cluster.token).items() if i % 5 == 0 else ():
            if title == "nbaccel::mover":
                with contextlib.suppress(ProcessLookupError):  # it had nothing to do any more, and has ended by itself
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
        assert nbaccel.get(refs[i])[-1] == i
    assert len(killed) >= 2  # the first, and what came in its place


def test_the_store_works_where_dev_shm_is_tiny(cluster: Place) -> None:
    assert not any(name.startswith("nbaccel-arena") for name in os.listdir("/dev/shm"))

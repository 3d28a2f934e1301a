"""Values and refs: putting, passing, waiting, futures, streams, on every engine."""

from __future__ import annotations

import asyncio
import gc

import pytest

import nbaccel
from nbaccel import exceptions


@nbaccel.remote
def same(value):
    return value


@nbaccel.remote
def held(refs):
    return nbaccel.get(refs)


def test_put_and_get(nb):
    value = {"a": [1, 2, (3, None)], "b": b"bytes"}
    assert nb.get(nb.put(value)) == value


def test_a_large_array_arrives_whole_and_read_only(nb):
    numpy = pytest.importorskip("numpy")
    array = nb.get(nb.put(numpy.arange(1_000_000)))
    assert array.sum() == 499999500000
    assert not array.flags.writeable


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_tensor_that_is_read_twice_is_two_tensors(nb, size):
    torch = pytest.importorskip("torch")
    sent = torch.zeros(size)
    ref = nb.put([sent])
    (first,), (second,) = nb.get([ref, ref])
    first += 1
    assert first.sum() == size
    assert second.sum() == sent.sum() == 0


def test_a_ref_as_an_argument_is_its_value(nb):
    assert nb.get(same.remote(nb.put(5))) == 5
    assert nb.get(same.remote(value=same.remote(6))) == 6


def test_a_ref_inside_an_argument_stays_a_ref(nb):
    assert nb.get(held.remote([nb.put(1), same.remote(2)])) == [1, 2]


def test_a_ref_inside_an_object_keeps_its_value(nb):
    box = nb.put([nb.put("inner")])
    gc.collect()
    (inner,) = nb.get(box)
    assert nb.get(inner) == "inner"


def test_a_task_returns_refs(nb):
    @nb.remote
    def make():
        return [nbaccel.put("made")]

    (ref,) = nb.get(make.remote())
    assert isinstance(ref, nb.ObjectRef)
    assert nb.get(ref) == "made"


def test_a_ref_that_travels_twice_keeps_its_value(nb):
    @nb.remote
    def forward(box):
        return nbaccel.get(held.remote(box))

    assert nb.get(forward.remote([nb.put(3)])) == [3]


def test_refs_are_equal_by_what_they_name(nb):
    ref = nb.put(1)
    (again,) = nb.get(same.remote([ref]))
    assert again == ref and hash(again) == hash(ref)
    assert len(ref.hex()) == 56 and bytes.fromhex(ref.hex()) == ref.binary()
    assert nb.put(1) != ref


def test_get_times_out(nb, gate):
    @nb.remote(num_cpus=0)
    def waits(gate):
        nbaccel.get(gate.wait.remote())
        return 1

    ref = waits.remote(gate)
    with pytest.raises(exceptions.GetTimeoutError):
        nb.get(ref, timeout=0.1)
    with pytest.raises(TimeoutError):
        nb.get(ref, timeout=0)
    nb.get(gate.open.remote())
    assert nb.get(ref) == 1


def test_wait_returns_what_is_ready_in_the_given_order(nb, gate):
    @nb.remote(num_cpus=0)
    def waits(gate):
        nbaccel.get(gate.wait.remote())

    slow, first, second = waits.remote(gate), same.remote(1), same.remote(2)
    nb.get([first, second])
    assert nb.wait([slow, first, second], num_returns=2) == ([first, second], [slow])
    ready, rest = nb.wait([slow, second, first], num_returns=1)
    assert (ready, rest) in (([second], [slow, first]), ([first], [slow, second]))
    assert nb.wait([slow], timeout=0.05) == ([], [slow])
    nb.get(gate.open.remote())
    assert nb.wait([slow], timeout=60) == ([slow], [])


def test_wait_refuses_what_it_cannot_wait_for(nb):
    ref = nb.put(1)
    with pytest.raises(ValueError):
        nb.wait([ref, ref])
    with pytest.raises(TypeError):
        nb.wait(ref)
    with pytest.raises(ValueError):
        nb.wait([ref], num_returns=2)
    assert nb.wait([]) == ([], [])


def test_a_future_of_a_ref(nb):
    assert same.remote(4).future().result(60) == 4


def test_a_future_of_a_failed_task_has_its_error(nb):
    @nb.remote
    def fail():
        raise ValueError("no")

    assert isinstance(fail.remote().future().exception(60), ValueError)


def test_a_cancelled_future_is_left_alone(nb, late):
    future = late.ref.future()
    assert future.cancel()
    late.come()
    assert nb.get(late.ref, timeout=60) == "late"
    assert future.cancelled()


def test_refs_are_awaited(nb):
    async def both():
        return await asyncio.gather(same.remote(1), same.remote(2))

    assert asyncio.run(both()) == [1, 2]


def test_giving_up_on_an_awaited_ref_leaves_the_task_alone(nb, gate):
    @nb.remote(num_cpus=0)
    def waits(gate):
        nbaccel.get(gate.wait.remote())
        return "done"

    async def give_up(ref):
        for awaited in (ref, ref.as_future()):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(awaited, 0.05)

    ref = waits.remote(gate)
    asyncio.run(give_up(ref))
    nb.get(gate.open.remote())
    assert nb.get(ref) == "done"


@nbaccel.remote
def numbers(count):
    yield from range(count)


@nbaccel.remote
def breaks():
    yield 1
    raise ValueError("broken")


def test_a_generator_streams_its_values(nb):
    assert [nb.get(ref) for ref in numbers.remote(4)] == [0, 1, 2, 3]


def test_an_empty_stream_ends_at_once(nb):
    assert list(numbers.remote(0)) == []


def test_a_stream_that_breaks_raises_after_its_values(nb):
    stream = breaks.remote()
    assert nb.get(next(stream)) == 1
    with pytest.raises(ValueError, match="broken"):
        nb.get(next(stream))
    with pytest.raises(StopIteration):
        next(stream)


def test_the_end_of_a_stream_is_a_ref(nb):
    stream = numbers.remote(2)
    ready, _ = nb.wait([stream.completed()], timeout=60)
    assert ready


def test_a_stream_is_read_in_asyncio(nb):
    async def read():
        return [await ref async for ref in numbers.remote(3)]

    assert asyncio.run(read()) == [0, 1, 2]


def test_streams_and_refs_are_waited_for_together(nb):
    stream, ref = numbers.remote(1), same.remote(1)
    ready, rest = nb.wait([stream, ref], num_returns=2, timeout=60)
    assert ready == [stream, ref] and rest == []
    assert nb.get(next(stream)) == 0


def test_a_stream_is_slowed_down_by_its_reader(nb, tmp_path):
    @nb.remote(_generator_backpressure_num_objects=1)
    def careful():
        for number in range(3):
            (tmp_path / str(number)).touch()
            yield number

    stream = careful.remote()
    assert nb.get(next(stream)) == 0
    assert not (tmp_path / "2").exists()
    assert [nb.get(ref) for ref in stream] == [1, 2]


def test_where_an_object_lies_is_told(nb):
    large, small = nb.put(bytes(1_000_000)), nb.remote(lambda: 1).remote()
    nb.get(small)
    found = nb.experimental.get_object_locations([large, small])
    assert set(found) == {large, small} and found[small]["node_ids"] == []
    assert {"node_ids", "object_size", "did_spill"} <= set(found[large]) and found[large]["object_size"] >= 1_000_000


def test_arrays_inside_other_objects_may_be_written_to_and_an_array_itself_says_why_not(nb):
    numpy = pytest.importorskip("numpy")
    array = numpy.zeros(50_000)

    @nb.remote
    def write(inside, itself):
        inside["weights"][0] = 1
        itself[0] = 1

    with pytest.raises(ValueError, match=r"read-only\n.*array = array\.copy\(\)"):
        nb.get(write.remote({"weights": array}, array))
    ref = nb.put({"weights": array})
    one, two = nb.get(ref), nb.get(ref)
    one["weights"][0] = 1
    assert two["weights"].sum() == array.sum() == 0

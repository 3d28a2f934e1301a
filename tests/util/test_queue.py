"""Queue: between driver, tasks and actors; full, empty, batches, end."""

import asyncio
import pickle
import queue

import pytest

import nbaccel
from nbaccel.exceptions import RayActorError
from nbaccel.util.queue import Empty, Full, Queue


@pytest.fixture
def shared():
    shared = Queue()
    yield shared
    shared.shutdown(force=True)


@nbaccel.remote(num_cpus=0)
def produce(shared, items):
    for item in items:
        shared.put(item)


@nbaccel.remote(num_cpus=0)
def consume(shared, count):
    return [shared.get() for _ in range(count)]


def test_items_come_out_in_the_order_in_which_they_went_in(shared):
    for item in range(5):
        shared.put(item)
    assert (shared.qsize(), len(shared), shared.empty()) == (5, 5, False)
    assert [shared.get() for _ in range(5)] == list(range(5))
    assert shared.empty()


def test_tasks_put_and_take(shared):
    taken = consume.remote(shared, 20)
    produce.remote(shared, list(range(20)))
    assert nbaccel.get(taken) == list(range(20))


def test_an_empty_queue_raises_empty_at_once_or_in_time(shared):
    for take in (shared.get_nowait, lambda: shared.get(block=False), lambda: shared.get(timeout=0.01)):
        with pytest.raises(Empty) as caught:
            take()
        assert type(caught.value) is Empty
        assert isinstance(caught.value, queue.Empty)


def test_a_full_queue_raises_full_at_once_or_in_time():
    shared = Queue(maxsize=1)
    shared.put("first")
    assert shared.full()
    for put in (lambda: shared.put_nowait(1), lambda: shared.put(1, block=False), lambda: shared.put(1, timeout=0.01)):
        with pytest.raises(Full) as caught:
            put()
        assert isinstance(caught.value, queue.Full)
    assert shared.size() == 1


def test_who_waits_for_room_goes_on_when_there_is_some():
    shared = Queue(maxsize=1)
    ref = produce.remote(shared, [1, 2, 3])
    assert nbaccel.get(consume.remote(shared, 3)) == [1, 2, 3]
    nbaccel.get(ref)


def test_a_batch_is_all_or_nothing():
    shared = Queue(maxsize=3)
    shared.put_nowait_batch([1, 2])
    with pytest.raises(Full, match="room for 1 of its 3"):
        shared.put_nowait_batch([3, 4])
    with pytest.raises(Empty, match="the queue has 2"):
        shared.get_nowait_batch(3)
    assert shared.get_nowait_batch(2) == [1, 2]


def test_wrong_arguments_are_refused(shared):
    with pytest.raises(TypeError, match="iterable"):
        shared.put_nowait_batch(3)
    with pytest.raises(TypeError, match="whole number"):
        shared.get_nowait_batch(1.5)
    with pytest.raises(ValueError, match="negative"):
        shared.get_nowait_batch(-1)
    for call in (lambda: shared.put(1, timeout=-1), lambda: shared.get(timeout=-1)):
        with pytest.raises(ValueError, match="non-negative"):
            call()


def test_asyncio_code_can_await_it(shared):
    async def both():
        taking = asyncio.ensure_future(shared.get_async())
        await shared.put_async("item")
        with pytest.raises(Empty):
            await shared.get_async(timeout=0.01) if taking.done() else await _after(taking, shared)
        return await taking

    async def _after(taking, queue):
        await taking
        await queue.get_async(block=False)

    assert asyncio.run(both()) == "item"


def test_a_queue_in_a_structure_is_the_same_queue(shared):
    @nbaccel.remote(num_cpus=0)
    def put_into(holder):
        holder["queue"].put("from the task")

    nbaccel.get(put_into.remote({"queue": shared}))
    assert shared.get() == "from the task"


def test_the_actor_can_be_given_options():
    shared = Queue(actor_options={"name": "the-queue", "num_cpus": 0})
    assert nbaccel.get_actor("the-queue") == shared.actor
    shared.shutdown()


@pytest.mark.parametrize("force", [True, False])
def test_after_shutdown_its_actor_is_gone(force):
    shared = Queue()
    actor = shared.actor
    shared.shutdown(force=force)
    shared.shutdown()
    with pytest.raises(RayActorError):
        nbaccel.get(actor.qsize.remote())


def test_full_and_empty_travel():
    assert [type(pickle.loads(pickle.dumps(error))) for error in (Full("x"), Empty("y"))] == [Full, Empty]

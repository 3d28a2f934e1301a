"""Calls from Python: handles, responses, streams, composition, errors."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import nbaccel
from nbaccel import serve
from nbaccel.serve.exceptions import BackPressureError, DeploymentUnavailableError, RayServeException
from nbaccel.serve.handle import DeploymentHandle
from tests.rig import Gate, wait_until
from tests.serve.conftest import Answer

Door = Callable[..., Answer]


class MineError(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@serve.deployment
class Model:
    def __init__(self, weight: int = 1) -> None:
        self.weight = weight
        self.closed = 0

    def __call__(self, x: int) -> int:
        return self.weight * x

    async def add(self, x: int, y: int = 0) -> int:
        return x + y

    def items(self, number: int) -> Iterator[int]:
        try:
            yield from range(number)
        finally:
            self.closed += 1

    async def later(self, number: int) -> AsyncIterator[int]:
        try:
            for each in range(number):
                yield each
        finally:
            self.closed += 1

    def closed_streams(self) -> int:
        return self.closed

    def echo(self, value: Any) -> Any:
        return value

    def fail(self) -> None:
        raise MineError(3)

    async def wait(self, gate: Any) -> str:
        try:
            await gate.wait.remote()
        except asyncio.CancelledError:
            self.closed += 1
            raise
        return "done"


def test_methods_plain_and_async_are_called_by_name(door: Door) -> None:
    handle = serve.run(Model.bind(2), route_prefix=None)
    assert handle.remote(21).result() == 42
    assert handle.add.remote(1, y=2).result() == 3
    assert handle.options(method_name="add").remote(1).result() == 1


def test_a_response_can_be_awaited_in_any_loop(door: Door) -> None:
    handle = serve.run(Model.bind(2), route_prefix=None)

    async def both() -> list[int]:
        return list(await asyncio.gather(handle.remote(1), handle.remote(2)))

    assert asyncio.run(both()) == [2, 4]


def test_result_works_inside_of_a_running_loop_that_is_not_the_calls_own(door: Door) -> None:
    handle = serve.run(Model.bind(2), route_prefix=None)

    async def cell() -> int:
        return handle.remote(1).result()  # type: ignore[no-any-return]

    assert asyncio.run(cell()) == 2


def test_values_larger_than_a_frame_travel_both_ways(door: Door) -> None:
    handle = serve.run(Model.bind(), route_prefix=None)
    for size in (1 << 18, 3_000_000):
        value = bytes(range(250)) * (size // 250)
        assert handle.echo.remote(value).result() == value


def test_a_stream_gives_its_items_in_for_and_async_for(door: Door) -> None:
    handle = serve.run(Model.bind(), route_prefix=None).options(stream=True)
    assert list(handle.items.remote(3)) == [0, 1, 2]

    async def collected() -> list[int]:
        return [item async for item in handle.later.remote(300)]

    assert asyncio.run(collected()) == list(range(300))


def test_a_stream_that_is_left_closes_its_generator(door: Door) -> None:
    handle = serve.run(Model.bind(), route_prefix=None)
    for stream in (handle.options(stream=True).items.remote(10**9), handle.options(stream=True).later.remote(10**9)):
        assert next(stream) == 0
        stream.cancel()
    wait_until(lambda: handle.closed_streams.remote().result() == 2, "the generators' ends")


def test_a_generator_without_stream_and_a_stream_without_a_generator_are_type_errors(door: Door) -> None:
    handle = serve.run(Model.bind(), route_prefix=None)
    with pytest.raises(TypeError, match=r"options\(stream=True\)"):
        handle.items.remote(3).result()
    with pytest.raises(TypeError, match="no generator"):
        list(handle.options(stream=True).add.remote(3))
    with pytest.raises(TypeError, match="async for"):

        async def awaited() -> None:
            await handle.options(stream=True).items.remote(3)

        asyncio.run(awaited())


def test_what_a_deployment_raises_is_raised_with_its_own_frames(door: Door) -> None:
    handle = serve.run(Model.bind(), route_prefix=None)
    with pytest.raises(MineError) as caught:
        handle.fail.remote().result()
    assert isinstance(caught.value, nbaccel.exceptions.RayTaskError)
    assert caught.value.code == 3
    text = str(caught.value)
    assert "Model.fail()" in text and "raise MineError(3)" in text
    assert "nbaccel/serve" not in text


def test_a_method_that_is_not_there_is_named_with_those_that_are(door: Door) -> None:
    handle = serve.run(Model.bind(), route_prefix=None)
    with pytest.raises(RayServeException, match=r"no method missing; it has .*add"):
        handle.missing.remote().result()


def test_a_response_is_an_argument_of_another_call_but_not_inside_of_a_list(door: Door) -> None:
    handle = serve.run(Model.bind(3), route_prefix=None)
    assert handle.add.remote(handle.remote(1), y=handle.remote(2)).result() == 9
    assert handle.add.remote(nbaccel.put(4)).result() == 4
    with pytest.raises(TypeError, match="not inside of a list"):
        handle.echo.remote([handle.remote(1)])


def test_bound_applications_become_handles_also_in_lists_and_dicts(door: Door) -> None:
    @serve.deployment
    class Sum:
        def __init__(self, models: list[DeploymentHandle], named: dict[str, DeploymentHandle]) -> None:
            self.models = [*models, *named.values()]

        async def __call__(self, request: Any) -> int:
            return sum(await asyncio.gather(*(model.remote(2) for model in self.models)))

        def blocking(self) -> int:
            return sum(model.remote(1).result() for model in self.models)

        async def deadlock(self) -> int:
            return self.models[0].remote(1).result()  # type: ignore[no-any-return]

    shared = Model.bind(1)
    app = Sum.bind([shared, Model.options(name="other").bind(10)], {"again": shared})
    handle = serve.run(app)
    assert door("/").json == 24
    assert handle.blocking.remote().result() == 12
    with pytest.raises(RuntimeError, match="await"):
        handle.deadlock.remote().result()
    assert set(serve.status().applications["default"].deployments) == {"Sum", "Model", "other"}


def test_a_handle_can_be_sent_to_a_task(door: Door) -> None:
    handle = serve.run(Model.bind(5), route_prefix=None)

    @nbaccel.remote
    def call(handle: DeploymentHandle) -> int:
        return handle.remote(2).result()  # type: ignore[no-any-return]

    assert nbaccel.get(call.remote(handle)) == 10
    assert pickle.loads(pickle.dumps(handle)) == handle


def test_a_task_serves_at_the_door_of_its_job(door: Door) -> None:
    serve.run(Model.bind(5), route_prefix=None)

    @nbaccel.remote
    def run() -> int:
        return serve.run(Model.bind(3), name="inner").remote(2).result()  # type: ignore[no-any-return]

    assert nbaccel.get(run.remote()) == 6
    assert set(serve.status().applications) == {"default", "inner"}
    assert serve.get_app_handle("inner").remote(4).result() == 12


def test_actors_and_refs_that_were_just_made_can_be_sent_and_returned(door: Door) -> None:
    class Relay:
        async def ask(self, gate: Any, ref: list[Any]) -> list[Any]:
            await gate.open.remote()
            return [await gate.arrived.remote(), await ref[0]]

        def put(self, value: int) -> list[Any]:
            return [nbaccel.put(value)]

    handle = serve.run(serve.deployment(Relay).bind(), route_prefix=None)
    for number in range(20):
        gate = Gate.remote()
        assert handle.ask.remote(gate, [nbaccel.put(number)]).result() == [0, number]
        assert nbaccel.get(handle.put.remote(number).result()) == [number]
        nbaccel.kill(gate)


def test_a_call_is_cancelled_where_it_runs(door: Door) -> None:
    handle = serve.run(Model.bind(), route_prefix=None)
    gate = Gate.remote()
    response = handle.wait.remote(gate)
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 1, "the call to run")
    response.cancel()
    with pytest.raises(serve.exceptions.RequestCancelledError):
        response.result()
    assert response.cancelled()
    wait_until(lambda: handle.closed_streams.remote().result() == 1, "the cancellation")


def test_a_timeout_leaves_the_call_alone(door: Door) -> None:
    handle = serve.run(Model.bind(), route_prefix=None)
    gate = Gate.remote()
    response = handle.wait.remote(gate)
    with pytest.raises(nbaccel.exceptions.GetTimeoutError):  # as for a task; it is a TimeoutError
        response.result(timeout_s=0.01)
    nbaccel.get(gate.open.remote())
    assert response.result() == "done"


def test_a_full_queue_raises_back_pressure_and_answers_503(door: Door) -> None:
    gate = Gate.remote()

    @serve.deployment(max_ongoing_requests=1, max_queued_requests=1)
    class Narrow:
        async def __call__(self, request: Any) -> str:
            await gate.wait.remote()
            return "done"

    handle = serve.run(Narrow.bind())
    first = handle.remote(None)
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 1, "the first call to run")
    second = handle.remote(None)

    def third_fails() -> bool:
        response = handle.remote(None)
        try:
            response.result(timeout_s=0.05)
        except BackPressureError as error:
            assert "max_queued_requests is 1" in str(error)
            return True
        except TimeoutError:
            response.cancel()
        return False

    wait_until(third_fails, "the queue to be full")
    nbaccel.get(gate.open.remote())
    assert [first.result(), second.result()] == ["done", "done"]


def test_handles_are_found_by_the_names_of_application_and_deployment(door: Door) -> None:
    serve.run(Model.bind(7), name="one", route_prefix=None)
    assert serve.get_app_handle("one").remote(1).result() == 7
    assert serve.get_deployment_handle("Model", "one").add.remote(1).result() == 1
    with pytest.raises(RayServeException, match=r"no application 'two'. There are one \(Model\)"):
        serve.get_app_handle("two")
    with pytest.raises(RayServeException, match="no deployment 'Other'"):
        serve.get_deployment_handle("Other", "one")


def test_a_handle_of_what_is_gone_raises(door: Door) -> None:
    handle = serve.run(Model.bind(), route_prefix=None)
    assert handle.remote(1).result() == 1
    serve.delete("default")
    with pytest.raises(DeploymentUnavailableError):
        handle.remote(1).result()
    serve.run(Model.bind(4), route_prefix=None)
    assert wait_until(lambda: _value(handle)) == 4


def _value(handle: Any) -> Any:
    try:
        return handle.remote(1).result()
    except DeploymentUnavailableError:
        return None


def test_a_replica_knows_which_one_it_is(door: Door) -> None:
    @serve.deployment
    class Who:
        def __init__(self) -> None:
            self.made_in = serve.get_replica_context()

        def __call__(self) -> list[Any]:
            here = serve.get_replica_context()
            return [here.app_name, here.deployment, here.rank, here.servable_object is self, here.replica_tag]

    app, deployment, rank, is_self, tag = serve.run(Who.bind(), route_prefix=None).remote().result()
    assert (app, deployment, rank, is_self) == ("default", "Who", 0, True)
    assert tag.startswith("Who-")
    with pytest.raises(RayServeException, match="no replica here"):
        serve.get_replica_context()


def test_the_limit_of_a_replica_is_kept_by_all_callers_together_and_nobody_is_forgotten(door: Door) -> None:
    @serve.deployment(max_ongoing_requests=2)
    class Narrow:
        def __init__(self) -> None:
            self.now = self.most = 0

        async def __call__(self, request: Any) -> str:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.001)
            self.now -= 1
            return "ok"

        async def peak(self) -> int:
            return self.most

    handle = serve.run(Narrow.bind())

    @nbaccel.remote
    def call(handle: DeploymentHandle) -> list[str]:
        return [response.result() for response in [handle.remote(None) for _ in range(40)]]

    others = [call.remote(handle) for _ in range(2)]
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.extend(door("/").text for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    mine = [response.result() for response in [handle.remote(None) for _ in range(40)]]
    for thread in threads:
        thread.join()
    assert [*mine, *answers, *nbaccel.get(others[0]), *nbaccel.get(others[1])] == ["ok"] * 200
    assert handle.peak.remote().result() == 2


def test_async_code_of_a_replica_asks_for_handles_and_states_of_other_applications(door: Any) -> None:
    """The door answers it, while its own loop waits."""

    @serve.deployment
    def word() -> str:
        return "word"

    @serve.deployment
    class Asks:
        async def __call__(self) -> Any:
            return [await serve.get_app_handle("word").remote(), sorted(serve.status().applications)]

    serve.run(word.bind(), name="word", route_prefix=None)
    handle = serve.run(Asks.bind(), name="asks", route_prefix=None)
    assert handle.remote().result(timeout_s=20) == ["word", ["asks", "word"]]

"""More small programs of Ray Serve's names. Most use one application that is served once: `model`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pickle
import time
from typing import Any

from tests.serve.programs_of_ray import Ask, raised


class Worker:
    """What the programs call."""

    def __call__(self, x: int = 1) -> int:
        return 2 * x

    async def add(self, x: int, y: int = 10) -> int:
        return x + y

    async def divide(self, x: int) -> float:
        return x / 0

    def size(self, given: Any) -> int:
        return len(given)

    def echo(self, *args: Any, **kwargs: Any) -> Any:
        return [list(args), kwargs]

    async def wait(self) -> None:
        await asyncio.sleep(600)

    def items(self, number: int) -> Any:
        yield from range(number)

    def breaks(self, number: int) -> Any:
        yield from range(number)
        raise ValueError("broken")


def model(serve: Any) -> Any:
    """The handle of the application, which the first program serves."""
    if "model" not in serve.status().applications:
        serve.run(serve.deployment(Worker).options(max_ongoing_requests=20).bind(), name="model", route_prefix=None)
    return serve.get_app_handle("model")


def a_result_in_time(serve: Any, ask: Ask) -> Any:
    handle = model(serve)
    in_time = handle.remote(4).result(timeout_s=60)
    try:
        handle.wait.remote().result(timeout_s=0.2)
    except TimeoutError:  # Ray's is a GetTimeoutError once the call has reached a replica, and a bare one before
        return [in_time, "TimeoutError"]


def a_cancelled_call(serve: Any, ask: Ask) -> Any:
    response = model(serve).wait.remote()
    time.sleep(0.5)  # Ray forgets a cancel that comes before the call has gone
    response.cancel()
    return raised(response.result)


def arguments(serve: Any, ask: Ask) -> Any:
    handle = model(serve)
    return [handle.echo.remote(1, "ä", key=[None]).result(), handle.add.remote(1).result(), handle.remote().result()]


def request_ids(serve: Any, ask: Ask) -> Any:
    handle = model(serve)
    first, second = handle.remote(1), handle.remote(1)
    return [isinstance(first.request_id, str), first.request_id != second.request_id, len(first.request_id) > 8]


def awaited(serve: Any, ask: Ask) -> Any:
    handle = model(serve)

    async def all_of_it() -> Any:
        both = await asyncio.gather(handle.remote(3), handle.add.remote(1))
        return [*both, [each async for each in handle.options(stream=True).items.remote(3)]]

    return asyncio.run(all_of_it())


def an_awaited_generator(serve: Any, ask: Ask) -> Any:
    handle = model(serve)

    async def wrong() -> None:
        await handle.options(stream=True).items.remote(1)

    return raised(lambda: asyncio.run(wrong()))


def a_pickled_handle(serve: Any, ask: Ask) -> Any:
    return pickle.loads(pickle.dumps(model(serve))).remote(5).result()


def options_of_options(serve: Any, ask: Ask) -> Any:
    handle = model(serve).options(method_name="add").options(stream=False)
    return [handle.remote(1).result(), raised(lambda: model(serve).options(nothing=1))]


def an_error_of_async_code(serve: Any, ask: Ask) -> Any:
    return raised(lambda: model(serve).divide.remote(1).result())


def large_arguments(serve: Any, ask: Ask) -> Any:
    handle = model(serve)
    return [handle.size.remote(b"x" * size).result() for size in (0, 1, 300_000, 3_000_000)]


def a_stream_that_is_left(serve: Any, ask: Ask) -> Any:
    handle = model(serve).options(stream=True)
    for each in handle.items.remote(1000):
        if each == 2:
            break
    return list(handle.items.remote(2))


def a_stream_that_breaks(serve: Any, ask: Ask) -> Any:
    seen: list[int] = []

    def read() -> None:
        for each in model(serve).options(stream=True).breaks.remote(2):
            seen.append(each)

    return [raised(read), seen]


def a_response_within_a_list(serve: Any, ask: Ask) -> Any:
    handle = model(serve)
    return raised(lambda: handle.echo.remote([handle.remote(1)]).result()) != "nothing"


def classes_of_errors(serve: Any, ask: Ask) -> Any:
    names = ["BackPressureError", "DeploymentUnavailableError", "ReplicaUnavailableError", "RequestCancelledError"]
    found = [getattr(serve.exceptions, name) for name in names]
    return [issubclass(each, serve.exceptions.RayServeException) for each in found]


def options_of_a_deployment(serve: Any, ask: Ask) -> Any:
    first = serve.deployment(Worker)
    second = first.options(num_replicas=3, name="renamed", max_ongoing_requests=7)
    return [[each.name, each.num_replicas, each.max_ongoing_requests] for each in (first, second)]


def kinds_of_bound_things(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    def plain() -> None: ...

    @serve.deployment()
    def called() -> None: ...

    return [type(plain).__name__, type(called).__name__, type(plain.bind()).__name__, plain.name, called.name]


def wrong_numbers(serve: Any, ask: Ask) -> Any:
    return [
        raised(lambda: serve.deployment(num_replicas=-1)(Worker)),
        raised(lambda: serve.deployment(max_ongoing_requests=0)(Worker)),
        raised(lambda: serve.deployment(num_replicas=2, autoscaling_config={"max_replicas": 2})(Worker)),
        raised(lambda: serve.batch(batch_wait_timeout_s=-1)),
        raised(lambda: serve.multiplexed(max_num_models_per_replica=0)),
    ]


def wrong_names(serve: Any, ask: Ask) -> Any:
    bound = serve.deployment(Worker).bind()
    return [raised(lambda: serve.run(bound, name="x", route_prefix="no-slash")), raised(lambda: serve.run("text"))]


def an_error_in_a_batch(serve: Any, ask: Ask) -> Any:
    @serve.deployment(max_ongoing_requests=8)
    class Batched:
        @serve.batch(max_batch_size=3, batch_wait_timeout_s=30)
        async def doubled(self, items: list[int]) -> list[Any]:
            if 8 in items:
                raise KeyError(8)
            return [[2 * item, len(items)] for item in items][: 2 if 15 in items else 3]

        async def __call__(self, item: int) -> Any:
            return await self.doubled(item)  # type: ignore[call-arg, arg-type]

    handle = serve.run(Batched.bind(), name="batched", route_prefix=None)

    def three(first: int) -> list[Any]:
        responses = [handle.remote(first + number) for number in range(3)]
        return [raised(response.result) for response in responses]

    return [three(1), three(7), three(14)]


def deleted_and_unknown(serve: Any, ask: Ask) -> Any:
    serve.delete("never was")
    unknown = "never was" in serve.status().applications
    with contextlib.suppress(Exception):
        model(serve)
    return [unknown, serve.status().applications["model"].status == "RUNNING"]


def numbers_of_numpy(serve: Any, ask: Ask) -> Any:
    import numpy as np

    @serve.deployment
    class Numbers:
        async def __init__(self) -> None:
            await asyncio.sleep(0)
            self.kept = np.arange(3)

        async def __call__(self, request: Any) -> Any:
            given = (await request.json()) if request.method == "POST" else []
            return {"kept": self.kept, "sum": np.int64(sum(given))}

    serve.run(Numbers.bind())
    return [json.loads(ask("/")[1]), json.loads(ask("/", b"[1, 2]")[1])]


MORE_PROGRAMS = [
    a_result_in_time, a_cancelled_call, arguments, request_ids, awaited, an_awaited_generator, a_pickled_handle,
    options_of_options, an_error_of_async_code, large_arguments, a_stream_that_is_left, a_stream_that_breaks,
    a_response_within_a_list, classes_of_errors, options_of_a_deployment, kinds_of_bound_things, wrong_numbers,
    wrong_names, an_error_in_a_batch, deleted_and_unknown, numbers_of_numpy,
]  # fmt: skip

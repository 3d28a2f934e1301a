"""Small programs of Ray Serve's names: each gets `serve` and a way to ask its door, and returns what is compared."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

Ask = Callable[..., tuple[int, str]]


def asking(url: str) -> Ask:
    def ask(path: str = "/", body: bytes | None = None, **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(f"{url}{path}", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    return ask


def raised(act: Callable[[], Any]) -> str:
    """The class of what it raises; of an error of user code, the user's."""
    try:
        act()
    except Exception as error:
        cause = getattr(error, "cause", None)
        name = type(cause if isinstance(cause, BaseException) else error).__name__
        return "ValueError" if name == "ValidationError" else name  # pydantic's is one
    return "nothing"


def answers_by_kind(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    def kinds(request: Any) -> Any:
        values = {"none": None, "text": "ä", "bytes": b"xy", "dict": {"a": [1, None]}, "tuple": (1, 2), "number": 7}
        return values[request.url.path.strip("/")]

    serve.run(kinds.bind())
    return [ask(f"/{name}") for name in ("none", "text", "bytes", "dict", "tuple", "number")]


def methods_and_bodies(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    async def echo(request: Any) -> Any:
        return {"method": request.method, "body": (await request.body()).decode(), "q": dict(request.query_params)}

    serve.run(echo.bind())
    return [json.loads(ask("/?x=1&y=%20")[1]), json.loads(ask("/", b"hello")[1])]


def no_parameters(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    def hello() -> str:
        return "hello"

    serve.run(hello.bind())
    return ask("/")


def a_starlette_response(serve: Any, ask: Ask) -> Any:
    from starlette.responses import JSONResponse

    @serve.deployment
    def made(request: Any) -> Any:
        return JSONResponse({"a": 1}, status_code=418)

    serve.run(made.bind())
    return ask("/")


def a_streaming_response(serve: Any, ask: Ask) -> Any:
    from starlette.responses import StreamingResponse

    @serve.deployment
    def made(request: Any) -> Any:
        return StreamingResponse((f"{number}," for number in range(4)), media_type="text/plain")

    serve.run(made.bind())
    return ask("/")


def an_error_is_a_500(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    def fails(request: Any) -> None:
        raise ValueError("x")

    serve.run(fails.bind())
    return ask("/")[0]


def routes(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    def where(request: Any) -> Any:
        return [request.scope["root_path"], request.url.path]

    serve.delete("default")
    serve.run(where.bind(), name="short", route_prefix="/api")
    serve.run(where.bind(), name="long", route_prefix="/api/deep")
    found = [ask("/api/x"), ask("/api/deep/x"), ask("/other")[0], ask("/-/healthz"), json.loads(ask("/-/routes")[1])]
    serve.delete("short")
    serve.delete("long")
    return found


class Model:
    def __init__(self, weight: int = 1) -> None:
        self.weight = weight

    def __call__(self, x: int) -> int:
        return self.weight * x

    async def add(self, x: int, y: int = 0) -> int:
        return x + y

    def items(self, number: int) -> Any:
        yield from range(number)

    async def later(self, number: int) -> Any:
        for each in range(number):
            yield each

    def fail(self) -> None:
        raise KeyError("missing")


def handles(serve: Any, ask: Ask) -> Any:
    handle = serve.run(serve.deployment(Model).bind(3))
    chained = handle.add.remote(handle.remote(2), y=handle.remote(1))
    return [
        handle.remote(2).result(),
        handle.add.remote(1, y=2).result(timeout_s=30),
        handle.options(method_name="add").remote(5).result(),
        chained.result(),
        serve.get_app_handle("default").remote(4).result(),
        serve.get_deployment_handle("Model", "default").remote(4).result(),
    ]


def streams(serve: Any, ask: Ask) -> Any:
    handle = serve.run(serve.deployment(Model).bind()).options(stream=True)
    return [list(handle.items.remote(3)), list(handle.later.remote(4)), list(handle.items.remote(0))]


def errors_of_calls(serve: Any, ask: Ask) -> Any:
    handle = serve.run(serve.deployment(Model).bind())
    return [
        raised(lambda: handle.fail.remote().result()),
        raised(lambda: handle.items.remote(3).result()),
        raised(lambda: list(handle.options(stream=True).add.remote(1))),
        raised(lambda: handle.nothing.remote().result()),
        raised(lambda: serve.get_app_handle("nothing")),
    ]


def wrong_uses(serve: Any, ask: Ask) -> Any:
    deployment = serve.deployment(Model)
    return [
        raised(lambda: serve.run(deployment)),
        raised(lambda: deployment()),
        raised(lambda: serve.deployment(num_replicas=0)(Model)),
        raised(lambda: serve.deployment(version="1")(Model)),
        raised(lambda: serve.deployment(route_prefix="/")(Model)),
        raised(lambda: serve.deployment(name="a#b")(Model)),
        raised(lambda: serve.batch(max_batch_size=0)),
        raised(lambda: serve.get_replica_context()),
    ]


def composition(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    class Sum:
        def __init__(self, models: list[Any], named: dict[str, Any]) -> None:
            self.models = [*models, *named.values()]

        async def __call__(self, request: Any) -> int:
            return sum(await asyncio.gather(*(model.remote(2) for model in self.models)))

    model = serve.deployment(Model)
    serve.run(Sum.bind([model.bind(1), model.options(name="ten").bind(10)], {"x": model.bind(100)}))
    return [ask("/"), sorted(serve.status().applications["default"].deployments)]


def a_config(serve: Any, ask: Ask) -> Any:
    @serve.deployment(user_config={"word": "first"})
    class Configured:
        def __init__(self) -> None:
            self.word = "none"
            self.configs = 0

        def reconfigure(self, config: dict[str, str]) -> None:
            self.word = config["word"]
            self.configs += 1

        def __call__(self, request: Any) -> Any:
            return [self.word, self.configs]

    serve.run(Configured.bind())
    return ask("/")


def batches(serve: Any, ask: Ask) -> Any:
    @serve.deployment(max_ongoing_requests=8)
    class Batched:
        @serve.batch(max_batch_size=4, batch_wait_timeout_s=30)
        async def double(self, items: list[int]) -> list[list[int]]:
            return [[2 * item, len(items)] for item in items]

        async def __call__(self, item: int) -> list[int]:
            return await self.double(item)  # type: ignore[no-any-return]

    handle = serve.run(Batched.bind())
    return [response.result() for response in [handle.remote(item) for item in range(8)]]


def contexts(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    class Who:
        def __call__(self, request: Any) -> Any:
            here = serve.get_replica_context()
            return [here.app_name, here.deployment, here.servable_object is self, here.world_size]

    serve.run(Who.bind(), name="named", route_prefix="/named")
    found = ask("/named")
    serve.delete("named")
    return found


def a_fastapi_ingress(serve: Any, ask: Ask) -> Any:
    import fastapi

    app = fastapi.FastAPI()

    @serve.deployment
    @serve.ingress(app)
    class Api:
        def __init__(self, word: str) -> None:
            self.word = word

        @app.get("/hello/{name}")
        def hello(self, name: str, times: int = 1) -> Any:
            return f"{self.word} {name}" * times

        @app.post("/sum")
        async def sum(self, numbers: list[int]) -> int:
            return sum(numbers)

    handle = serve.run(Api.bind("hi"))
    return [
        ask("/hello/bob?times=2"),
        ask("/hello/bob?times=x")[0],
        ask("/sum", b"[1, 2]", **{"content-type": "application/json"}),
        ask("/nothing")[0],
        handle.hello.remote("x").result(),
    ]


def models(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    class Many:
        @serve.multiplexed(max_num_models_per_replica=2)
        async def load(self, model_id: str) -> str:
            return f"model {model_id}"

        async def __call__(self, request: Any) -> str:
            return await self.load(serve.get_multiplexed_model_id())  # type: ignore[no-any-return]

    handle = serve.run(Many.bind())
    by_handle = handle.options(multiplexed_model_id="b").remote(None).result()
    return [ask("/", serve_multiplexed_model_id="a"), by_handle]


def statuses(serve: Any, ask: Ask) -> Any:
    serve.run(serve.deployment(Model).options(num_replicas=2).bind(), name="one", route_prefix="/one")
    app = serve.status().applications["one"]
    facts = [
        app.status == "RUNNING",
        sorted(app.deployments),
        app.deployments["Model"].status in ("HEALTHY", "UPDATING"),
    ]
    serve.delete("one")
    return [*facts, "one" in serve.status().applications]


def a_function_with_name_and_options(serve: Any, ask: Ask) -> Any:
    @serve.deployment(name="renamed", max_ongoing_requests=3, graceful_shutdown_timeout_s=1)
    async def hello(request: Any) -> str:
        return "hello"

    handle = serve.run(hello.bind())
    return [ask("/"), handle.deployment_name, hello.name, hello.max_ongoing_requests]


def a_constructor_that_raises(serve: Any, ask: Ask) -> Any:
    class Bad:
        def __init__(self) -> None:
            raise ValueError("no weights")

    return (
        raised(lambda: serve.run(serve.deployment(Bad).options(max_constructor_retry_count=1).bind(), name="bad")) != ""
    )


PROGRAMS = [
    answers_by_kind, methods_and_bodies, no_parameters, a_starlette_response, a_streaming_response, an_error_is_a_500,
    routes, handles, streams, errors_of_calls, wrong_uses, composition, a_config, batches, contexts, a_fastapi_ingress,
    models, statuses, a_function_with_name_and_options, a_constructor_that_raises,
]  # fmt: skip

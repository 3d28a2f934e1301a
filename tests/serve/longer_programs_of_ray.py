"""Programs as Ray Serve's documentation has them, each with a few of its features together.

Annotations are values here: FastAPI looks for names of the modules only.
"""

import asyncio
import json
import time
from typing import Any

from tests.rig import wait_until
from tests.serve.programs_of_ray import Ask, raised


def a_graph(serve: Any, ask: Ask) -> Any:
    """A preprocessor is shared by two models, and their answers go on to a third deployment as they are."""

    @serve.deployment
    def clean(text: str) -> str:
        return text.strip().lower()

    @serve.deployment
    class Model:
        def __init__(self, cleaner: Any, suffix: str = "") -> None:
            self.cleaner = cleaner
            self.suffix = suffix

        async def predict(self, text: str) -> str:
            return await self.cleaner.remote(text) + self.suffix

    @serve.deployment
    class Joined:
        def join(self, *parts: str, by: str = "+") -> str:
            return by.join(parts)

    @serve.deployment
    class Graph:
        def __init__(self, models: dict[str, Any], joined: Any) -> None:
            self.models = models
            self.joined = joined

        async def __call__(self, request: Any) -> str:
            text = request.query_params["text"]
            parts = [model.predict.remote(text) for model in self.models.values()]
            return await self.joined.join.remote(*parts, by="|")  # type: ignore[no-any-return]

    cleaner = clean.bind()
    models = {"a": Model.bind(cleaner), "b": Model.options(name="Second").bind(cleaner, suffix="!")}
    serve.run(Graph.bind(models, Joined.bind()))
    return [ask("/?text=%20Hi"), sorted(serve.status().applications["default"].deployments)]


def a_bound_value_is_kept(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    class Kept:
        def __init__(self, *values: Any, **named: Any) -> None:
            self.kept = [list(values), named]

        def __call__(self) -> Any:
            return self.kept

    serve.run(Kept.bind(1, {"a": (2, 3)}, word="x"))
    return json.loads(ask("/")[1])


def a_full_queue(serve: Any, ask: Ask) -> Any:
    """One request is answered at a time, one may wait, and the next one is refused."""

    @serve.deployment(max_ongoing_requests=1, max_queued_requests=1)
    class Slow:
        def __init__(self) -> None:
            self.open = asyncio.Event()

        async def __call__(self) -> str:
            await self.open.wait()
            return "done"

    handle = serve.run(Slow.bind(), name="slow", route_prefix=None)
    responses = []
    for _ in range(4):  # the first is under way, the next one waits
        responses.append(handle.remote())
        time.sleep(1)
    found = [raised(lambda response=response: response.result(timeout_s=1)) for response in responses]
    for response, error in zip(responses, found, strict=True):
        if error != "BackPressureError":  # on Ray, its cancel raises it again
            response.cancel()
    return ["BackPressureError" in found, "nothing" in found]


def awaiting_a_cancelled_call(serve: Any, ask: Ask) -> Any:
    """The code that is cancelled gets a CancelledError, and whoever awaits it a RequestCancelledError."""

    @serve.deployment
    class Callee:
        def __init__(self) -> None:
            self.seen: list[str] = []

        async def wait(self) -> None:
            self.seen.append("began")
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                self.seen.append("cancelled")
                raise

        def what(self) -> list[str]:
            return self.seen

    @serve.deployment
    class Caller:
        def __init__(self, callee: Any) -> None:
            self.callee = callee

        async def __call__(self) -> str:
            response = self.callee.wait.remote()
            await asyncio.sleep(1)
            response.cancel()
            try:
                await response
            except serve.exceptions.RequestCancelledError as error:
                return type(error).__name__
            return "nothing"

    handle = serve.run(Caller.bind(Callee.bind()), name="cancels", route_prefix=None)
    found = handle.remote().result(timeout_s=60)
    callee = serve.get_deployment_handle("Callee", "cancels")
    wait_until(lambda: len(callee.what.remote().result()) == 2, "the cancel to arrive")
    return [found, callee.what.remote().result()]


def a_request_that_takes_too_long(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    async def slow(request: Any) -> str:
        await asyncio.sleep(0 if "fast" in request.url.path else 60)
        return "done"

    serve.run(slow.bind())
    limit = {"x-request-timeout-seconds": "0.5"}
    return [ask("/fast", **limit), ask("/slow", **limit)[0]]


def a_new_config(serve: Any, ask: Ask) -> Any:
    """Another user_config reaches the object that there is; other code replaces it."""

    @serve.deployment
    class Threshold:
        def __init__(self, start: int) -> None:
            self.threshold = start
            self.seen: list[Any] = []

        async def reconfigure(self, config: dict[str, Any]) -> None:
            self.seen.append(config["threshold"])
            self.threshold = config["threshold"]

        def __call__(self, value: int = 5) -> Any:
            return [value > self.threshold, len(self.seen)]

    handle = serve.run(Threshold.options(user_config={"threshold": 1}).bind(0), name="config", route_prefix=None)
    first = handle.remote().result()
    handle = serve.run(Threshold.options(user_config={"threshold": 9}).bind(0), name="config", route_prefix=None)
    return [first[0], handle.remote().result()[0]]


def a_config_without_reconfigure(serve: Any, ask: Ask) -> Any:
    @serve.deployment(user_config={"a": 1}, max_constructor_retry_count=1)
    class Deaf:
        def __call__(self) -> None: ...

    return raised(lambda: serve.run(Deaf.bind(), name="deaf", route_prefix=None)) != "nothing"


def a_healthy_deployment(serve: Any, ask: Ask) -> Any:
    @serve.deployment(health_check_period_s=1, health_check_timeout_s=5)
    class Checked:
        def __init__(self) -> None:
            self.checks = 0

        async def check_health(self) -> None:
            self.checks += 1

        def __call__(self) -> int:
            return self.checks

    handle = serve.run(Checked.bind(), name="healthy", route_prefix=None)
    wait_until(lambda: handle.remote().result() > 1, "a check")
    return serve.status().applications["healthy"].deployments["Checked"].status == "HEALTHY"


def an_unhealthy_replica(serve: Any, ask: Ask) -> Any:
    """One that fails its checks is replaced."""

    @serve.deployment(health_check_period_s=0.5, health_check_timeout_s=5, graceful_shutdown_timeout_s=0.5)
    class Sick:
        def __init__(self) -> None:
            self.sick = False

        def check_health(self) -> None:
            if self.sick:
                raise RuntimeError("sick")

        def fall_ill(self) -> str:
            self.sick = True
            return serve.get_replica_context().replica_tag

        def who(self) -> str:
            return serve.get_replica_context().replica_tag

    handle = serve.run(Sick.bind(), name="sick", route_prefix=None)
    before = handle.fall_ill.remote().result()
    wait_until(lambda: raised(lambda: handle.who.remote().result(timeout_s=5)) == "nothing"
               and handle.who.remote().result() != before, "another replica")  # fmt: skip
    return "replaced"


def batches_of_a_handle(serve: Any, ask: Ask) -> Any:
    """Other sizes while it runs, and a generator that yields a list for each step."""

    @serve.deployment(max_ongoing_requests=20)
    class Batched:
        @serve.batch(max_batch_size=2, batch_wait_timeout_s=30)
        async def size(self, items: list[int]) -> list[int]:
            return [len(items)] * len(items)

        @serve.batch(max_batch_size=2, batch_wait_timeout_s=30)
        async def steps(self, items: list[int]) -> Any:
            for step in range(2):
                yield [item * 10 + step for item in items]

        def grow(self, size: int) -> None:
            self.size.set_max_batch_size(size)  # type: ignore[attr-defined]
            self.size.set_batch_wait_timeout_s(20.0)  # type: ignore[attr-defined]

        async def __call__(self, item: int) -> int:
            return await self.size(item)  # type: ignore[call-arg, arg-type, return-value]

        async def stream(self, item: int) -> Any:
            async for each in self.steps(item):  # type: ignore[arg-type]
                yield each

    handle = serve.run(Batched.bind(), name="batched", route_prefix=None)
    pairs = [response.result() for response in [handle.remote(item) for item in range(2)]]
    handle.grow.remote(3).result()
    threes = [response.result() for response in [handle.remote(item) for item in range(3)]]
    streams = [handle.options(method_name="stream", stream=True).remote(item) for item in (1, 2)]

    async def both() -> list[list[int]]:
        async def read(stream: Any) -> list[int]:
            return [each async for each in stream]

        return list(await asyncio.gather(*map(read, streams)))

    return [pairs, threes, asyncio.run(both())]


def fastapi_with_all(serve: Any, ask: Ask) -> Any:
    """Path parameters, a dependency, a model as body and answer, a status, a router and an error of one's own."""
    import fastapi
    import pydantic

    class Item(pydantic.BaseModel):
        name: str
        price: float = 1.5

    class Missing(Exception):
        pass

    app = fastapi.FastAPI()
    router = fastapi.APIRouter(prefix="/v1")

    def limit(limit: int = 10) -> int:
        return limit * 2

    @router.get("/plain")
    def plain() -> str:
        return "of the router"

    app.include_router(router)

    @app.exception_handler(Missing)
    async def missing(request: fastapi.Request, error: Missing) -> Any:
        return fastapi.responses.JSONResponse({"missing": str(error)}, status_code=410)

    @serve.deployment
    @serve.ingress(app)
    class Shop:
        def __init__(self) -> None:
            self.items: dict[int, Any] = {}

        @app.post("/items/{number}", status_code=201)
        def put(self, number: int, item: Item) -> Item:
            self.items[number] = item
            return item

        @app.get("/items/{number}")
        async def get(self, number: int, most: int = fastapi.Depends(limit)) -> Any:
            if number not in self.items:
                raise Missing(str(number))
            return [self.items[number].name, most]

        @app.get("/teapot")
        def teapot(self) -> None:
            raise fastapi.HTTPException(status_code=418, detail="short")

        @app.get("/where/{rest:path}")
        def where(self, rest: str, request: fastapi.Request) -> Any:
            return [rest, request.url.path, request.headers["x-mine"]]

    serve.run(Shop.bind())
    json_of = {"content-type": "application/json"}
    return [
        ask("/items/1", b'{"name": "cup"}', **json_of),
        ask("/items/1?limit=4"),
        ask("/items/2"),
        ask("/items/x")[0],
        ask("/items/1", b"{}", **json_of)[0],
        ask("/teapot"),
        ask("/where/a/b", **{"x-mine": "1"}),
        ask("/v1/plain"),
        ask("/openapi.json")[0],
    ]


def fastapi_streams(serve: Any, ask: Ask) -> Any:
    import fastapi
    from starlette.responses import StreamingResponse

    app = fastapi.FastAPI()

    @serve.deployment
    class Tokens:
        async def generate(self, number: int) -> Any:
            for each in range(number):
                yield f"token {each}\n"

    @serve.deployment
    @serve.ingress(app)
    class Front:
        def __init__(self, tokens: Any) -> None:
            self.tokens = tokens.options(stream=True)

        @app.get("/stream")
        async def stream(self, number: int) -> StreamingResponse:
            return StreamingResponse(self.tokens.generate.remote(number), media_type="text/plain")

        @app.get("/last")
        async def last(self) -> Any:
            return [each async for each in self.tokens.generate.remote(2)][-1]

    serve.run(Front.bind(Tokens.bind()))
    return [ask("/stream?number=3"), ask("/stream?number=0"), ask("/last")]


def a_websocket(serve: Any, ask: Ask) -> Any:
    import fastapi
    from websockets.sync.client import connect

    app = fastapi.FastAPI()

    @serve.deployment
    @serve.ingress(app)
    class Echo:
        @app.websocket("/echo/{name}")
        async def echo(self, socket: fastapi.WebSocket, name: str) -> None:
            await socket.accept()
            try:
                while True:
                    text = await socket.receive_text()
                    await socket.send_json({"name": name, "text": text})
                    if text == "end":
                        await socket.close(code=4001)
                        return
            except fastapi.WebSocketDisconnect:
                pass

    serve.run(Echo.bind())
    with connect(ask.__closure__[0].cell_contents.replace("http", "ws") + "/echo/bob") as client:  # type: ignore[attr-defined, index]
        answers = []
        for text in ("hi", "end"):
            client.send(text)
            answers.append(json.loads(client.recv()))
        wait_until(lambda: raised(client.recv) == "ConnectionClosedError", "the close")
        return [answers, client.close_code]


def several_applications(serve: Any, ask: Ask) -> Any:
    """Each has its prefix, one has none, and one calls another by name."""

    @serve.deployment
    class Word:
        def __init__(self, word: str) -> None:
            self.word = word

        def __call__(self, request: Any = None) -> str:
            return self.word

    @serve.deployment
    class Asks:
        async def __call__(self, request: Any) -> str:
            return await serve.get_app_handle("hidden").remote()  # type: ignore[no-any-return]

    serve.delete("default")
    serve.run(Word.bind("a"), name="a", route_prefix="/a")
    serve.run(Word.bind("b"), name="b", route_prefix="/b")
    serve.run(Word.bind("hidden"), name="hidden", route_prefix=None)
    serve.run(Asks.bind(), name="asks", route_prefix="/asks")
    found = [ask("/a"), ask("/b/deeper"), ask("/asks"), ask("/c")[0], json.loads(ask("/-/routes")[1])]
    serve.delete("b")
    found += [ask("/b")[0], ask("/a")]
    for name in ("a", "hidden", "asks"):
        serve.delete(name)
    return found


def a_prefix_that_is_taken(serve: Any, ask: Ask) -> Any:
    @serve.deployment
    def word() -> str:
        return "word"

    serve.delete("default")
    serve.run(word.bind(), name="first", route_prefix="/same")
    error = raised(lambda: serve.run(word.bind(), name="second", route_prefix="/same"))
    found = ask("/same")
    serve.delete("first")
    serve.delete("second")
    return [error, found]


def shapes_of_a_status(serve: Any, ask: Ask) -> Any:
    @serve.deployment(num_replicas=2)
    class Two:
        def __call__(self) -> None: ...

    serve.run(Two.bind(), name="two", route_prefix=None)
    wait_until(lambda: serve.status().applications["two"].deployments["Two"].status == "HEALTHY", "both")
    status = serve.status()
    app = status.applications["two"]
    deployment = app.deployments["Two"]
    return [
        [app.status, app.message, type(app.last_deployed_time_s).__name__],
        [deployment.status, dict(deployment.replica_states), deployment.message],
        [type(each).__name__ for each in (status, app, deployment)],
        [isinstance(app.status, str), isinstance(deployment.status, str)],
        sorted({str(getattr(proxy, "value", proxy)) for proxy in status.proxies.values()}),
    ]


def scaling_options(serve: Any, ask: Ask) -> Any:
    @serve.deployment(
        autoscaling_config={"min_replicas": 1, "initial_replicas": 2, "max_replicas": 3, "target_ongoing_requests": 1}
    )
    class Scaled:
        def __call__(self) -> str:
            return "ok"

    handle = serve.run(Scaled.bind(), name="scaled", route_prefix=None)

    def starts_with_two() -> bool:
        return serve.status().applications["scaled"].deployments["Scaled"].replica_states.get("RUNNING") == 2

    wait_until(starts_with_two, "the first replicas")
    wrong = [
        raised(lambda: Scaled.options(autoscaling_config={"min_replicas": 3, "max_replicas": 1})),
        raised(lambda: Scaled.options(autoscaling_config={"max_replicas": -1})),
        raised(lambda: Scaled.options(num_replicas="many")),
    ]
    return [handle.remote().result(), wrong]


def what_a_replica_knows(serve: Any, ask: Ask) -> Any:
    @serve.deployment(num_replicas=2)
    class Knows:
        def __init__(self) -> None:
            self.at_start = serve.get_replica_context().deployment

        async def __call__(self) -> Any:
            here = serve.get_replica_context()
            return [self.at_start, here.app_name, here.replica_tag, here.world_size]

    handle = serve.run(Knows.bind(), name="knows", route_prefix=None)
    found = [handle.remote().result() for _ in range(40)]
    tags = {each[2] for each in found}
    return [found[0][:2], found[0][3], 1 <= len(tags) <= 2]


def models_of_a_handle(serve: Any, ask: Ask) -> Any:
    """The least recently used of three models goes."""

    @serve.deployment
    class Models:
        def __init__(self) -> None:
            self.loaded: list[str] = []

        @serve.multiplexed(max_num_models_per_replica=2)
        async def load(self, model_id: str) -> str:
            self.loaded.append(model_id)
            return f"model {model_id}"

        async def __call__(self, request: Any = None) -> Any:
            return await self.load(serve.get_multiplexed_model_id())

        def all_loaded(self) -> list[str]:
            return self.loaded

    handle = serve.run(Models.bind(), name="models", route_prefix=None)
    answers = [handle.options(multiplexed_model_id=name).remote().result() for name in "abacab"]
    return [answers, handle.all_loaded.remote().result()]


def an_error_in_a_graph(serve: Any, ask: Ask) -> Any:
    """An error of one deployment reaches the code that awaits it, the caller of that, and HTTP."""

    @serve.deployment
    class Fails:
        def __call__(self, x: int) -> int:
            if x:
                raise ArithmeticError("x")
            return x

    @serve.deployment
    class Catches:
        def __init__(self, fails: Any) -> None:
            self.fails = fails

        async def __call__(self, request: Any) -> Any:
            return await self.fails.remote(int(request.query_params["x"]))

        async def caught(self) -> str:
            try:
                await self.fails.remote(1)
            except ArithmeticError:
                return "caught"
            return "not caught"

        async def passed_on(self) -> Any:
            return await self.fails.remote(self.fails.remote(0))

        async def failed_argument(self) -> Any:
            return await self.fails.remote(self.fails.remote(1))

    handle = serve.run(Catches.bind(Fails.bind()))
    return [
        handle.caught.remote().result(),
        handle.passed_on.remote().result(),
        raised(lambda: handle.failed_argument.remote().result()),
        ask("/?x=0"),
        ask("/?x=1")[0],
    ]


def generators_by_http(serve: Any, ask: Ask) -> Any:
    from starlette.responses import StreamingResponse

    @serve.deployment
    class Streams:
        def items(self, number: int) -> Any:
            for each in range(number):
                yield f"{each};"

        def __call__(self, request: Any) -> Any:
            return StreamingResponse(
                self.items(int(request.query_params["n"])), status_code=201, headers={"x-mine": "1"}
            )

    handle = serve.run(Streams.bind())
    stream = handle.options(stream=True, method_name="items").remote(3)
    return [ask("/?n=2"), next(stream), list(stream), raised(lambda: next(stream))]


LONGER_PROGRAMS = [
    a_graph, a_bound_value_is_kept, a_full_queue, awaiting_a_cancelled_call, a_request_that_takes_too_long,
    a_new_config, a_config_without_reconfigure, a_healthy_deployment, an_unhealthy_replica, batches_of_a_handle,
    fastapi_with_all, fastapi_streams, a_websocket, several_applications, a_prefix_that_is_taken, shapes_of_a_status,
    scaling_options, what_a_replica_knows, models_of_a_handle, an_error_in_a_graph, generators_by_http,
]  # fmt: skip

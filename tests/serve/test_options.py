"""What a user writes, checked where it is written; and what is refused says where to find it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from nbaccel import serve
from nbaccel.serve import pickling
from nbaccel.serve.deployments import app_spec


@serve.deployment
class Model:
    def __init__(self, *given: Any) -> None:
        self.given = given


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"num_replicas": 0}, ValueError, "at least 1"),
        ({"num_replicas": 2, "autoscaling_config": {}}, ValueError, "auto"),
        ({"name": "a#b"}, ValueError, "without '#'"),
        ({"version": "1"}, ValueError, "compared"),
        ({"route_prefix": "/"}, TypeError, "serve.run"),
        ({"max_ongoing_requests": 0}, ValueError, "at least 1"),
        ({"name": "a\0b"}, ValueError, "without NUL"),
        ({"name": "\ud800"}, ValueError, "without NUL"),
        ({"max_queued_requests": -2}, ValueError, "-1 for no limit"),
        ({"graceful_shutdown_timeout_s": -1}, ValueError, "seconds"),
        ({"ray_actor_options": {"num_gpu": 1}}, ValueError, "no num_gpu"),
        ({"ray_actor_options": {"lifetime": "detached"}}, ValueError, "no lifetime"),
        ({"ray_actor_options": {"num_gpus": -1}}, ValueError, "num_gpus"),
        ({"placement_group_bundles": [{"CPU": 1}]}, ValueError, "from ray import serve"),
        ({"max_surge_percent": 10}, ValueError, "New replicas start first"),
        ({"logging_config": {"a": 1}}, ValueError, "not built"),
        ({"replicas": 2}, TypeError, "no option replicas"),
        ({"autoscaling_config": {"policy": "x"}}, ValueError, "policy is not built"),
        ({"autoscaling_config": {"max": 2}}, TypeError, "no max"),
        ({"autoscaling_config": {"min_replicas": 3, "max_replicas": 2}}, ValueError, "below"),
    ],
    ids=str,
)
def test_a_wrong_option_is_refused_with_what_to_do(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Model.options(**options)
    with pytest.raises(error, match=words):
        serve.deployment(**options)


def test_options_of_ray_serve_are_accepted_at_their_defaults() -> None:
    Model.options(rolling_update_percentage=0.2, max_surge_percent=0, logging_config=None, request_router_config=None)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: serve.run(Model), TypeError, r"Model.bind\(...\)"),
        (lambda: serve.run(3), TypeError, "takes an application"),
        (lambda: serve.run(Model.bind(), name="a\0b"), ValueError, "without NUL"),
        (lambda: serve.run(Model.bind(), route_prefix="/\ud800"), ValueError, "without NUL"),
        (lambda: serve.run(Model.bind(), route_prefix="x"), ValueError, "begins with '/'"),
        (lambda: serve.run(Model.bind(), logging_config={"a": 1}), ValueError, "not built"),
        (lambda: serve.run(Model.bind(), _local_testing_mode=True), ValueError, "engine='debug'"),
        (lambda: serve.run(Model.bind(), other=1), TypeError, "no other"),
        (lambda: Model(), RuntimeError, "not called directly"),
        (lambda: serve.deployment(Model), TypeError, "already"),
        (lambda: serve.deployment(3), TypeError, "a class or a function"),
        (lambda: serve.deployment(lambda: 1).bind(3), TypeError, "takes no arguments"),
        (lambda: app_spec(Model.bind([Model]), "a", "/", None, is_open=False), TypeError, "not bound"),
        (lambda: serve.multiplexed(lambda model: 1), TypeError, "takes an async method"),
        (lambda: serve.multiplexed(max_num_models_per_replica=0), ValueError, "at least 1"),
        (lambda: serve.run_many([]), NotImplementedError, "call serve.run"),
        (lambda: serve.start(grpc_options={}), TypeError, "gRPC"),
    ],
)
def test_a_wrong_call_is_refused_with_what_to_do(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_modules_that_are_rays_alone_name_it() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"ray\.serve\.llm"):
        import nbaccel.serve.llm  # type: ignore[import-not-found]  # noqa: F401
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        serve.nothing  # type: ignore[attr-defined]


def test_two_bound_deployments_of_one_name_get_two_names() -> None:
    spec = app_spec(Model.bind(Model.bind(1), {"x": [Model.bind(2)]}), "app", "/", None, is_open=False)
    assert [each.name for each in spec.deployments] == ["Model", "Model_1", "Model_2"]
    assert spec.ingress == "Model_2"


@pytest.mark.parametrize("name", ["x" * 300, "../../a", "a\nb", "ü" * 200])
def test_any_name_can_be_served(door: Any, name: str) -> None:
    serve.run(serve.deployment(Named).options(name=name).bind(), name=name)
    assert door("/").text == "ok"
    assert name in serve.status().applications and name in serve.status().applications[name].deployments


class Named:
    def __call__(self, request: Any) -> str:
        return "ok"


def test_what_cannot_be_pickled_is_named_with_its_place() -> None:
    with pytest.raises(TypeError, match=r"argument 0 of bind\(\)\['a'\]\[1\]"):
        app_spec(Model.bind({"a": [1, sys.stdout]}), "app", "/", None, is_open=False)


def defined(source: str) -> Any:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), scope)
    return scope["thing"]


CELL = """
LIMIT = 3
def helper(x):
    return x + LIMIT
class thing:
    size = 1
    def method(self, x=2):
        return helper(x)
"""


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (("\n", "\n\n# moved\n", 1), True),
        (("LIMIT = 3", "LIMIT = 4"), False),
        (("x + LIMIT", "x - LIMIT"), False),
        (("size = 1", "size = 2"), False),
        (("x=2", "x=3"), False),
        (("def method", "def other(self): pass\n    def method"), False),
    ],
    ids=str,
)
def test_the_digest_is_of_what_code_does(change: tuple[Any, ...], same: bool) -> None:
    before, after = defined(CELL), defined(CELL.replace(*change))
    assert (pickling.digest((before, (), {})) == pickling.digest((after, (), {}))) is same


def test_serving_costs_nothing_until_it_is_used_and_names_its_extra() -> None:
    program = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("starlette", "uvicorn", "httptools"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import importlib.util
found = importlib.util.find_spec
EXTRA = ("starlette", "uvicorn", "httptools")
importlib.util.find_spec = lambda name, package=None: None if name in EXTRA else found(name, package)
from nbaccel import serve
assert not {"asyncio", "msgspec", "starlette", "uvicorn"} & set(sys.modules), set(sys.modules)
@serve.deployment
def hello(): ...
try:
    serve.run(hello.bind())
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "nbaccel.serve needs starlette, uvicorn, httptools: pip install 'nbaccel[serve]'\n", (
        done.stderr
    )

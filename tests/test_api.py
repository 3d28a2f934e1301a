"""The functions that users call: what they accept, what they refuse and with which words, and what they mean."""

from __future__ import annotations

import functools
import os
import pickle
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import exceptions
from tests.census import Place
from tests.heads import assert_idle, inside
from tests.rig import DEADLINE_S, Gate


@pytest.fixture(scope="module")
def head() -> Iterator[Place]:
    with inside(Place()) as place:
        nbaccel.init(num_cpus=4, num_gpus=2, resources={"NPU": 2, "HPU": 1, "lamp": 3}, namespace="tests")
        yield place


@pytest.fixture(autouse=True)
def cluster(head: Place) -> Iterator[Place]:
    yield head
    assert_idle()


@nbaccel.remote
def echo(*values: Any, **named: Any) -> Any:
    return (values[0] if len(values) == 1 and not named else (values, named)) if values or named else None


# ---- quantities


@pytest.mark.parametrize("options", [{"num_gpus": 1.5}, {"num_gpus": 2.1}, {"resources": {"NPU": 1.5}}])
def test_more_than_one_device_must_be_whole_and_is_refused_at_the_call(options: dict[str, Any]) -> None:
    remote = echo.options(**options)
    with pytest.raises(ValueError, match="whole number"):
        remote.remote()


def test_devices_that_cannot_be_shared_refuse_fractions_at_the_call() -> None:
    with pytest.raises(ValueError, match="HPU"):
        echo.options(resources={"HPU": 0.5}).remote()


@pytest.mark.parametrize(
    "options", [{"num_cpus": 1.5}, {"resources": {"lamp": 2.5}}, {"num_gpus": 0.5}, {"num_gpus": 0}]
)
def test_other_fractions_are_fine(options: dict[str, Any]) -> None:
    assert nbaccel.get(echo.options(**options).remote(1)) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_gpus": 0.00001}, "0.0001"),
        ({"num_gpus": -1}, "negative"),
        ({"num_cpus": -0.5}, "negative"),
        ({"resources": {"lamp": -1}}, "negative"),
        ({"resources": {"GPU": 1}}, "num_gpus"),
        ({"resources": {"CPU": 1}}, "num_cpus"),
        ({"resources": 3}, "resources"),
        ({"max_retries": -2}, "max_retries"),
        ({"num_returns": -3}, "num_returns"),
        ({"max_calls": -1}, "max_calls"),
        ({"num_gpu": 1}, "num_gpus"),
        ({"nonsense": 1}, "nonsense"),
        ({"num_gpus": "one"}, "num_gpus"),
        ({"max_restarts": 1}, "max_restarts"),
    ],
)
def test_wrong_options_are_refused_where_they_are_written(options: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        nbaccel.remote(**options)(lambda: None)


@pytest.mark.parametrize("name", ["a\0b", "\udc80"])
def test_a_name_that_no_process_can_have_is_refused_where_it_is_written(name: str) -> None:
    for remote in (nbaccel.remote(lambda: 1), nbaccel.remote(Exception)):
        with pytest.raises(ValueError, match="Option name must be text without NUL"):
            remote.options(name=name)


def test_max_calls_belongs_to_the_decorator_only() -> None:
    with pytest.raises(ValueError, match="max_calls"):
        echo.options(max_calls=1)


def test_an_actor_knows_options_of_its_own() -> None:
    with pytest.raises(ValueError, match="max_retries"):
        nbaccel.remote(max_retries=1)(Counter._class)
    with pytest.raises(ValueError, match="max_calls"):
        nbaccel.remote(max_calls=1)(Counter._class)


# ---- calling what is remote


def test_a_remote_function_is_not_called_directly() -> None:
    with pytest.raises(TypeError, match=r"cannot be called directly.*echo\.remote\(\)"):
        echo(1)


def test_an_actor_is_not_made_directly_and_neither_are_its_calls() -> None:
    with pytest.raises(TypeError, match=r"cannot be instantiated directly.*Counter\.remote\(\)"):
        Counter()
    counter = Counter.remote()
    with pytest.raises(TypeError, match=r"cannot be called directly.*add\.remote\(\)"):
        counter.add()
    with pytest.raises(AttributeError, match="subtract"):
        counter.subtract


@pytest.mark.parametrize(("args", "named"), [((1, 2), {}), ((), {}), ((1,), {"other": 2})])
def test_wrong_arguments_are_refused_at_the_call(args: tuple[Any, ...], named: dict[str, Any]) -> None:
    one = nbaccel.remote(lambda value: value)
    with pytest.raises(TypeError):
        one.remote(*args, **named)


def test_the_decorator_takes_functions_and_classes() -> None:
    with pytest.raises(AssertionError, match="@remote"):  # Ray's type for both
        nbaccel.remote(5)
    with pytest.raises(AssertionError, match="has no options"):
        nbaccel.remote()
    with pytest.raises(TypeError, match="remote already"):
        nbaccel.remote(echo)

    async def coroutine() -> None: ...

    async def stream() -> AsyncIterator[int]:
        yield 1

    for refused in (coroutine, stream):
        with pytest.raises(ValueError, match="async def"):
            nbaccel.remote(refused)


@pytest.mark.parametrize(
    ("code", "args", "result"),
    [
        (len, ([1, 2],), 2),
        (functools.partial(pow, 2), (5,), 32),
        (lambda x: x + 1, (1,), 2),
        (str.upper, ("a",), "A"),
        ([3, 1, 2].__getitem__, (1,), 1),
    ],
    ids=["builtin", "partial", "lambda", "method of a type", "bound method"],
)
def test_whatever_can_be_called_can_be_remote(code: Callable[..., Any], args: tuple[Any, ...], result: Any) -> None:
    assert nbaccel.get(nbaccel.remote(code).remote(*args)) == result


@pytest.mark.extra("numba")
def test_compiled_functions_can_be_remote() -> None:
    import numba
    import numpy

    @nbaccel.remote
    @numba.njit
    def total(array):  # type: ignore[no-untyped-def]
        result = 0.0
        for value in array:
            result += value
        return result

    @nbaccel.remote
    @numba.vectorize(["float64(float64)"])
    def twice(value):  # type: ignore[no-untyped-def]
        return value * 2

    assert nbaccel.get(total.remote(numpy.arange(4.0))) == 6.0
    assert nbaccel.get(twice.remote(numpy.arange(3.0))).tolist() == [0.0, 2.0, 4.0]


# ---- what cannot be pickled


def test_an_unpicklable_function_names_what_it_captured() -> None:
    lock = threading.Lock()

    def use() -> bool:
        return lock.locked()

    with pytest.raises(TypeError, match=r"Could not serialize use: lock \(captured by use\).*_thread\.lock"):
        nbaccel.remote(use).remote()


def test_a_function_that_captured_a_large_array_is_refused_with_what_to_do() -> None:
    data = bytes(100 << 20)

    def use() -> int:
        return len(data)

    with pytest.raises(ValueError, match=r"use is too large.*data \(captured by use\), a bytes.*nbaccel\.put\(data\)"):
        nbaccel.remote(use).remote()


def test_an_unpicklable_argument_is_named_with_its_place() -> None:
    with pytest.raises(TypeError, match=r"argument 1 of echo: it\['deep'\]\[0\].*lock"):
        echo.remote(1, {"deep": [threading.Lock()]})
    with pytest.raises(TypeError, match=r"argument 'key' of echo: it.*lock"):
        echo.remote(key=threading.Lock())
    with pytest.raises(TypeError, match=r"Could not serialize the value: it.*lock"):
        nbaccel.put(threading.Lock())


def test_an_unpicklable_result_is_the_tasks_error() -> None:
    @nbaccel.remote
    def give() -> Any:
        return {"deep": threading.Lock()}

    with pytest.raises(TypeError, match=r"Could not serialize the return value of .*give: it\['deep'\].*lock"):
        nbaccel.get(give.remote())


def test_what_refuses_with_another_error_than_a_type_error_is_named_in_its_message(tmp_path: Path) -> None:
    @nbaccel.remote
    class Keeper:
        def __init__(self, value: Any = None) -> None: ...

        def take(self, value: Any) -> None: ...

    @nbaccel.remote
    def give() -> Any:
        return [1, {"k": open(os.devnull, "w")}]

    keeper = Keeper.remote()
    with open(tmp_path / "x", "w") as file:
        value = [1, {"k": file}]
        culprit = r"it\[1\]\['k'\] \(_io\.TextIOWrapper\) cannot be pickled .*not opened for reading"
        for what, call in {
            "argument 0 of echo": lambda: echo.remote(value),
            "argument 'key' of echo": lambda: echo.remote(key=value),
            "argument 0 of .*Keeper": lambda: Keeper.remote(value),
            "argument 0 of .*Keeper.take": lambda: keeper.take.remote(value),
            "the value": lambda: nbaccel.put(value),
            "the return value of .*give": lambda: nbaccel.get(give.remote()),
        }.items():
            with pytest.raises(pickle.PicklingError, match=f"Could not serialize {what}: {culprit}"):
                call()


def test_an_error_of_python_with_other_parts_than_a_message_keeps_them_and_gets_a_note() -> None:
    class Refuses:
        def __reduce__(self) -> Any:
            raise OSError(28, "No space left")

    with pytest.raises(OSError, match="No space left") as caught:
        nbaccel.put([Refuses()])
    assert caught.value.errno == 28
    assert "Could not serialize the value: it[0]" in caught.value.__notes__[0]


# ---- get, put, wait


def test_get_takes_refs_and_lists_of_refs_only() -> None:
    for wrong in (1, "ref", None, (nbaccel.put(1),), {nbaccel.put(1)}):
        with pytest.raises(ValueError, match="Invalid type of object refs"):
            nbaccel.get(wrong)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="the list holds an int: 5"):
        nbaccel.get([nbaccel.put(1), 5])  # type: ignore[list-item]
    assert nbaccel.get([]) == []
    gate = Gate.remote()
    for uncalled in (nbaccel.remote(abs), gate.open):  # a beginner's slip: get(f) for get(f.remote())
        with pytest.raises(ValueError, match=r"Submit it first: get\(….remote\(…\)\)"):
            nbaccel.get(uncalled)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="Submit it first"):
            nbaccel.get([uncalled])  # type: ignore[list-item]


def test_get_with_a_timeout_gives_up_and_the_task_goes_on() -> None:
    gate = Gate.remote()
    ref = gate.wait.remote()
    with pytest.raises(exceptions.GetTimeoutError, match="1 of 1 objects were not ready"):
        nbaccel.get(ref, timeout=0.01)
    with pytest.raises(TimeoutError):
        nbaccel.get([ref], timeout=0)
    gate.open.remote()
    assert nbaccel.get(ref, timeout=DEADLINE_S) is None
    assert nbaccel.get(ref, timeout=0) is None
    with pytest.raises(ValueError, match="nonnegative"):
        nbaccel.get(ref, timeout=-2)
    with pytest.raises(ValueError, match="nonnegative"):
        nbaccel.get(ref, timeout=float("nan"))


def test_put_takes_anything_but_a_ref() -> None:
    with pytest.raises(TypeError, match="Calling 'put' on an ObjectRef is not allowed"):
        nbaccel.put(nbaccel.put(1))


@pytest.mark.parametrize(
    ("make", "named", "error", "said"),
    [
        (lambda: nbaccel.put(1), {}, TypeError, "single ObjectRef"),
        (lambda: 5, {}, TypeError, "expected a list"),
        (lambda: [1], {}, TypeError, "list containing"),
        (lambda: [nbaccel.put(1)] * 2, {}, ValueError, "unique"),
        (lambda: [nbaccel.put(1)], {"num_returns": 0}, ValueError, "Invalid number of objects"),
        (lambda: [nbaccel.put(1)], {"num_returns": 2}, ValueError, "num_returns cannot be greater"),
        (lambda: [nbaccel.put(1)], {"timeout": -1}, ValueError, "nonnegative"),
        (lambda: [nbaccel.put(1)], {"timeout": float("nan")}, ValueError, "nonnegative"),
    ],
)
def test_wait_refuses(make: Any, named: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        nbaccel.wait(make(), **named)


def test_wait_keeps_the_order_and_returns_as_many_as_asked() -> None:
    gate = Gate.remote()
    blocked = gate.wait.remote()
    ready = [nbaccel.put(i) for i in range(3)]
    refs = [blocked, *ready]
    assert nbaccel.wait(refs, num_returns=2) == (ready[:2], [blocked, ready[2]])
    assert nbaccel.wait(refs, num_returns=4, timeout=0.01) == (ready, [blocked])
    assert nbaccel.wait([blocked], timeout=0) == ([], [blocked])
    assert nbaccel.wait([]) == ([], [])
    gate.open.remote()
    assert nbaccel.wait(refs, num_returns=4) == (refs, [])


def test_several_results_are_several_refs() -> None:
    @nbaccel.remote(num_returns=3)
    def three() -> Any:
        return 1, 2, 3

    assert nbaccel.get(three.remote()) == [1, 2, 3]
    assert three.options(num_returns=0).remote() is None
    with pytest.raises(ValueError, match=r"returned 3 values, but num_returns=2"):
        nbaccel.get(three.options(num_returns=2).remote())
    with pytest.raises(TypeError, match="it returned an int, which cannot be divided"):
        nbaccel.get(echo.options(num_returns=2).remote(5))


# ---- cancel and kill


def test_cancel_and_kill_refuse_what_is_not_theirs() -> None:
    counter = Counter.remote()
    ref = counter.add.remote()
    with pytest.raises(TypeError, match="object refs or streams"):
        nbaccel.cancel(counter)
    with pytest.raises(ValueError, match=r"only supported for actors.*use cancel\(ref\)"):
        nbaccel.kill(ref)  # type: ignore[arg-type]
    assert nbaccel.get(ref) == 1
    with pytest.raises(ValueError, match="not supported for actor tasks"):
        nbaccel.cancel(counter.hang.remote(), force=True)
    nbaccel.kill(counter)


# ---- init and shutdown


def test_init_twice_is_an_error_unless_that_is_meant() -> None:
    with pytest.raises(RuntimeError, match=r"init\(\) was called twice"):
        nbaccel.init()
    assert "address" in nbaccel.init(ignore_reinit_error=True).address_info


def test_what_init_returns_is_a_mapping_of_where_the_cluster_is() -> None:
    context = nbaccel.init(ignore_reinit_error=True)
    assert context["node_id"] == nbaccel.get_runtime_context().get_node_id()
    assert {"address", "gcs_address", "session_dir", "session_name", "webui_url"} <= set(context)
    assert context.get("no_such_thing") is None and "node_id" in context and len(context) == len(context.address_info)


def test_init_refuses_unknown_keywords() -> None:
    with pytest.raises(RuntimeError, match="num_gpu"):
        nbaccel.init(num_gpu=1)


def test_a_program_needs_no_init_and_says_what_needs_one(head: Place) -> None:
    done = head.run(
        "import nbaccel\n"
        "try:\n    nbaccel.nodes()\nexcept nbaccel.exceptions.RaySystemError as error:\n    print(error)\n"
        "nbaccel.shutdown()\nnbaccel.shutdown()\nprint(nbaccel.is_initialized())\n"
        "@nbaccel.remote\ndef f(): return 1\n"
        "print(nbaccel.get(f.remote()), nbaccel.is_initialized())\n"
        "nbaccel.shutdown()\nprint(nbaccel.is_initialized())\n"
        "nbaccel.init(num_cpus=1)\nprint(nbaccel.get(f.remote()))\n"
    )
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert "Call nbaccel.init() first" in first
    assert rest == ["False", "1 True", "False", "1"]


def test_gpu_ids_are_numbers_and_accelerator_ids_are_strings() -> None:
    @nbaccel.remote(num_gpus=2, resources={"NPU": 1})
    def ids() -> Any:
        return (
            nbaccel.get_gpu_ids(),
            nbaccel.get_runtime_context().get_accelerator_ids(),
            os.environ["CUDA_VISIBLE_DEVICES"],
        )

    gpus, all_ids, variable = nbaccel.get(ids.remote())
    assert (gpus, all_ids["GPU"], all_ids["NPU"], variable) == ([0, 1], ["0", "1"], ["0"], "0,1")
    assert nbaccel.get_gpu_ids() == []


@nbaccel.remote
class Counter:
    """Counts."""

    def __init__(self, start: int = 0) -> None:
        self.count = start

    def add(self) -> int:
        self.count += 1
        return self.count

    def hang(self) -> None:
        threading.Event().wait()


def test_programs_find_names_where_ray_keeps_them():
    from nbaccel._raylet import ObjectRefGenerator

    from nbaccel.util.placement_group import VALID_PLACEMENT_GROUP_STRATEGIES

    assert ObjectRefGenerator is nbaccel.ObjectRefGenerator and "STRICT_PACK" in VALID_PLACEMENT_GROUP_STRATEGIES
    assert nbaccel.init(ignore_reinit_error=True).ray_version.startswith("2.60.")


def test_a_keyword_may_be_called_self():
    @nbaccel.remote
    def echo(**named):
        return named

    assert nbaccel.get([echo.remote(self=1), echo.options(name="echo").remote(self=2)]) == [{"self": 1}, {"self": 2}]

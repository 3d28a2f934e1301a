"""A program of a user's, as mypy (strict) and pyright both read it; tests/types/test_consumer.py runs them.

The comment after `reveal_type(...)` is what both must reveal, without the names of modules. `wrong` marks a line in
which both must find an error; in every other line neither may.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any, reveal_type

import nbaccel as ray
from nbaccel import ObjectRef, train, tune
from nbaccel.actor import ActorClass, ActorHandle, ActorProxy
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.train.torch import TorchTrainer
from nbaccel.train.torch.config import TorchConfig
from nbaccel.tune.logger import CSVLoggerCallback
from nbaccel.tune.search import ConcurrencyLimiter, Searcher
from nbaccel.tune.trial import Trial

# ---- init

ray.init(num_cpus=4, num_gpus=2, object_store_memory="1GiB", ignore_reinit_error=True, runtime_env={"env_vars": {}})
ray.init("local", engine="debug", node_types={"big": {"num_cpus": 4}}, _temp_dir=None, namespace="n")
ray.init(num_cpu=4)  # wrong
ray.init(num_gpus="2")  # wrong
ray.init(engine="dask")  # wrong
given: dict[str, Any] = {"num_cpus": 2}
ray.init(**given)

# ---- functions


@ray.remote
def text(number: int, factor: float = 1.0, *, sign: str = "") -> str:
    return sign + str(number * factor)


@ray.remote(num_gpus=0.5, max_retries=3, runtime_env={"pip": ["x"]})
def length(word: str) -> int:
    return len(word)


@ray.remote(num_returns=2)
def halves(word: str) -> tuple[str, str]:
    return word[:1], word[1:]


@ray.remote(num_returns=0, name="quiet")
def nothing() -> None: ...


@ray.remote
def count(to: int) -> Iterator[int]:
    yield from range(to)


@ray.remote(num_returns="dynamic")
def counted(to: int) -> Iterator[int]:
    yield from range(to)


@ray.remote(num_cpus=0, fallback="cpu", fallback_after_s=3)
def counting(to: int) -> Iterator[int]:
    yield from range(to)


@ray.remote
def join(a: int, b: str, c: float, d: bytes = b"", *rest: int, last: bool = False) -> list[str]:
    return []


@ray.remote
def whatever(x: Any) -> Any:
    return x


def pow_of(base: int, to: int) -> int:
    return int(base**to)


one, word = ray.put(1), ray.put("one")
reveal_type(one)  # -> ObjectRef[int]
reveal_type(text.remote(1))  # -> ObjectRef[str]
reveal_type(text.remote(number=1, sign="-"))  # -> ObjectRef[str]
reveal_type(text.remote(one, 2.0))  # -> ObjectRef[str]
reveal_type(text.remote(one, sign="-"))  # -> ObjectRef[str]
reveal_type(text.remote(1, ray.put(2.0), sign="-"))  # -> ObjectRef[str]
reveal_type(length.remote(text.remote(1)))  # -> ObjectRef[int]
reveal_type(join.remote(1, word, ray.put(2.5), b"", 1, 2, last=True))  # -> ObjectRef[list[str]]
reveal_type(join.remote(one, "b", 2.5))  # -> ObjectRef[list[str]]
reveal_type(halves.remote("ab"))  # -> list[ObjectRef[Any]]
reveal_type(nothing.remote())  # -> None
reveal_type(count.remote(3))  # -> ObjectRefGenerator[int]
reveal_type(counting.remote(one))  # -> ObjectRefGenerator[int]
reveal_type(counted.remote(3))  # -> ObjectRef[DynamicObjectRefGenerator]
reveal_type(length.options(num_gpus=1, name="l").remote("a"))  # -> ObjectRef[int]
reveal_type(length.options(num_returns=2).options(num_cpus=2).remote("a"))  # -> list[ObjectRef[Any]]
length.options(**given)
reveal_type(ray.remote(partial(pow_of, 1)).remote(2))  # -> ObjectRef[int]
reveal_type(ray.remote(num_cpus=2)(len).remote("a"))  # -> ObjectRef[int]
ray.get(whatever.remote(1)).anything

text.remote("1")  # wrong
text.remote()  # wrong
text.remote(1, signs="-")  # wrong
text.remote(one, sign=1)  # wrong
text.remote(1, word, sign=1)  # wrong
text.remot(1)  # wrong
length.remote(1)  # wrong
count.remote("3")  # wrong
ray.remote(num_gpu=1)  # wrong
ray.remote(num_gpus="1")  # wrong
ray.remote(num_returns="stream")  # wrong
length.options(num_gpu=1)  # wrong
length.options(max_restarts=1)  # wrong
length.options(max_calls=1)  # wrong


@ray.remote(max_restarts=1)  # wrong
def no_actor() -> None: ...


# ---- get, wait, put

reveal_type(ray.get(text.remote(1)))  # -> str
reveal_type(ray.get([text.remote(1), text.remote(2)], timeout=3))  # -> list[str]
reveal_type(ray.get([text.remote(n) for n in range(3)]))  # -> list[str]
refs = [length.remote("a")]
reveal_type(ray.wait(refs, num_returns=1))  # -> tuple[list[ObjectRef[int]], list[ObjectRef[int]]]
reveal_type(ray.get(ray.wait(refs)[0]))  # -> list[int]
reveal_type([ray.get(ref) for ref in count.remote(3)])  # -> list[int]
reveal_type([ray.get(ref) for ref in ray.as_completed(refs)])  # -> list[int]
reveal_type(ray.progress(refs))  # -> list[ObjectRef[int]]
reveal_type(ray.get(halves.remote("ab")))  # -> list[Any]
reveal_type(one.future().result())  # -> int
with ray.Executor(num_cpus=2) as pool:
    reveal_type(pool.submit(len, "a").result())  # -> int
    pool.submit(len, 1)  # wrong
mixed: list[ObjectRef[int] | ObjectRef[str]] = [one, word]
reveal_type(ray.get(mixed))  # -> list[Any]
ray.get(1)  # wrong
ray.get((one, one))  # wrong
ray.get([1])  # wrong
ray.get(one, timeouts=1)  # wrong
ray.wait(one)  # wrong
ray.cancel(one, force=True)
ray.cancel("one")  # wrong
ray.get(text.remote(1)) + 1  # wrong
text.remote(1) + "a"  # wrong


async def waits() -> None:
    reveal_type(await text.remote(1))  # -> str
    reveal_type(await asyncio.gather(one, word))  # -> tuple[int, str]
    async for ref in count.remote(3):
        reveal_type(await ref)  # -> int


# ---- actors


class Counter:
    def __init__(self, start: int, step: int = 1) -> None:
        self.n = start

    @ray.method
    def add(self, by: int = 1) -> int:
        self.n += by
        return self.n

    @ray.method
    async def later(self, by: int) -> str:
        return str(by + self.add(by))

    @ray.method
    def each(self) -> Iterator[bytes]:
        yield b""

    @ray.method(concurrency_group="io")
    async def stream(self) -> AsyncIterator[bytes]:
        yield b""

    @ray.method(num_returns=2)
    def both(self) -> tuple[int, int]:
        return 1, 2

    def plain(self, by: int) -> int:
        return by


class Faster(Counter):
    @ray.method
    def add(self, by: int = 2) -> int:
        return super().add(by)


CounterActor = ray.remote(Counter)
reveal_type(CounterActor.remote(1, step=2))  # -> ActorHandle[Counter]
reveal_type(CounterActor.remote(one))  # -> ActorHandle[Counter]
reveal_type(CounterActor.options(name="c", lifetime="detached").remote(1))  # -> ActorHandle[Counter]
reveal_type(ray.remote(num_gpus=1)(Counter).remote(1))  # -> ActorHandle[Counter]
reveal_type(ray.remote(max_restarts=1, max_concurrency=3)(Counter).remote(1))  # -> ActorHandle[Counter]
CounterActor.remote("1")  # wrong
CounterActor.remote()  # wrong
CounterActor.options(max_retries=1)  # wrong
CounterActor.options(lifetime="long")  # wrong
named: ActorClass[Counter] = CounterActor

handle = CounterActor.remote(1)
handle.plain.remote(1)
handle.add.options(num_returns=1, concurrency_group="io").remote(1)
reveal_type(handle.__ray_call__.remote(Counter.plain, 2))  # -> ObjectRef[int]
handle.__ray_call__.remote(Counter.plain, "2")  # wrong
ray.kill(handle)
found: ActorHandle[Counter] = ray.get_actor("c", namespace="n")


def started() -> ActorProxy[Counter]:
    return CounterActor.remote(1)


@ray.remote
def uses(counter: ActorProxy[Counter]) -> int:
    return ray.get(counter.add.remote(1))


uses.remote(handle)
counter = started()
reveal_type(counter.add.remote())  # -> ObjectRef[int]
reveal_type(counter.add.remote(one))  # -> ObjectRef[int]
reveal_type(ray.get(counter.later.remote(1)))  # -> str
reveal_type(counter.each.remote())  # -> ObjectRefGenerator[bytes]
reveal_type(counter.stream.remote())  # -> ObjectRefGenerator[bytes]
reveal_type(counter.both.remote())  # -> list[ObjectRef[Any]]
reveal_type(counter.add.options(concurrency_group="io").remote(by=1))  # -> ObjectRef[int]
reveal_type(counter.add.options(num_returns="streaming").remote(by=1))  # -> ObjectRefGenerator[Any]
ray.kill(counter)
counter.ad.remote()  # wrong
counter.add.remote("1")  # wrong
counter.add.remote(of=1)  # wrong
counter.add.options(num_gpus=1)  # wrong
counter.add.options(concurrency_groups="io")  # wrong
ray.method(concurrency="io")  # wrong
ray.get_actor(1)  # wrong

# ---- training and tuning


def loop(config: dict[str, Any]) -> None:
    train.report({"loss": config["rate"]}, checkpoint=train.get_checkpoint())
    reveal_type(train.get_context().get_world_rank())  # -> int


scaling = train.ScalingConfig(num_workers=2, use_gpu=True)
reveal_type(TorchTrainer(loop, train_loop_config={"rate": 0.1}, scaling_config=scaling).fit())  # -> Result
TorchTrainer(loop, scaling_configs=scaling)  # wrong
TorchTrainer(1)  # wrong
train.ScalingConfig(num_worker=2)  # wrong
reveal_type(DataParallelTrainer(loop, backend_config=TorchConfig(timeout_s=60)).fit().path)  # -> str
TorchConfig(timeout_s="60")  # wrong
ConcurrencyLimiter(Searcher(), max_concurrent="4")  # wrong
tune.RunConfig(callbacks=[CSVLoggerCallback()])


def names(trials: list[Trial]) -> list[str]:
    return [trial.trial_id for trial in trials]


train.report("loss")  # wrong


class Prints(tune.Callback): ...


tuner = tune.Tuner(
    tune.with_resources(loop, {"gpu": 0.5}),
    param_space={"rate": tune.loguniform(1e-4, 1), "layers": tune.choice([1, 2])},
    tune_config=tune.TuneConfig(metric="loss", mode="min", num_samples=4),
    run_config=tune.RunConfig(name="n", stop={"loss": 0.1}, callbacks=[Prints()]),
)
reveal_type(tuner.fit().get_best_result().path)  # -> str
tune.run(loop, config={}, resources_per_trial={"cpu": 1}, stop=lambda trial, result: result["loss"] < 1)
tune.Tuner(2)  # wrong
tune.with_resources(loop, 2)  # wrong
tune.TuneConfig(samples=3)  # wrong
tune.run(loop, resources_per_trial=2)  # wrong

"""What a function had captured was held until the driver ended, and so was every function of a cell that ran again."""

# ruff: noqa: F821
# %%
import functools
import gc
import time

import psutil

import nbaccel as ray

ray.init(num_cpus=4, num_gpus=2)


@ray.remote(num_gpus=2)
class A:
    def ping(self):
        return "pong"


def is_free():
    """Whether both GPUs come back."""
    gc.collect()
    deadline = time.monotonic() + 60
    while ray.available_resources().get("GPU", 0) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    return ray.available_resources().get("GPU", 0) == 2


# %% a task
a = A.remote()


@ray.remote
def use():
    return ray.get(a.ping.remote())


assert ray.get(use.remote()) == "pong"
del use, a
assert is_free()
# %% a task that goes on while its function is gone
a = A.remote()


@ray.remote
def use():
    time.sleep(0.5)
    return ray.get(a.ping.remote())


ref = use.remote()
del use, a
assert ray.get(ref) == "pong"
del ref
assert is_free()
# %% a task that failed, whose call the head keeps to run it again
a = A.remote()


@ray.remote(max_retries=0)
def fail():
    ray.get(a.ping.remote())
    raise ValueError("on purpose")


try:
    ray.get(fail.remote())
except ValueError as error:
    assert "on purpose" in str(error)
del fail, a
assert is_free()
# %% a partial, and a function within a function
a = A.remote()


def ask(handle, times):
    return [ray.get(handle.ping.remote()) for _ in range(times)]


asks = ray.remote(functools.partial(ask, a, 2))
assert ray.get(asks.remote()) == ["pong", "pong"]


@ray.remote
def outer():
    return ray.get(ray.remote(lambda: ray.get(a.ping.remote())).remote())


assert ray.get(outer.remote()) == "pong"
del asks, outer, a
assert is_free()
# %% an actor class
a = A.remote()


@ray.remote(num_cpus=0)
class Asker:
    def ask(self):
        return ray.get(a.ping.remote())


asker = Asker.remote()
assert ray.get(asker.ask.remote()) == "pong"
del Asker, a
assert ray.get(asker.ask.remote()) == "pong"  # the actor lives on, and so does what its class has captured
del asker
assert is_free()


# %% many functions
def head_bytes():
    return max(child.memory_info().rss for child in psutil.Process().children())


def run_again(number):
    data = bytes([number % 256]) * 400_000

    @ray.remote
    def size():
        return len(data), number

    return ray.get(size.remote())


run_again(0)
before = head_bytes()
for number in range(1, 400):
    assert run_again(number) == (400_000, number)
grown = head_bytes() - before
assert grown < 80e6, f"the head has grown by {grown / 1e6:.0f} MB"
# %% the same function comes once more
run_again(7)
deadline = time.monotonic() + 1
while time.monotonic() < deadline:
    assert run_again(7) == (400_000, 7)

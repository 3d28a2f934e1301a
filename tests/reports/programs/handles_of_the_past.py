"""Actors that only outputs, the last traceback or a function held kept their devices, and nothing named the holder."""

# only: kernel
# ruff: noqa: F821
# %%
import gc
import time

import nbaccel as ray

ray.init(num_cpus=4, num_gpus=2)


@ray.remote(num_gpus=2)
class A:
    def ping(self):
        return "pong"


def comes_back():
    """Whether both GPUs come back."""
    gc.collect()
    deadline = time.monotonic() + 60
    while ray.available_resources().get("GPU", 0) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    return ray.available_resources().get("GPU", 0) == 2


# %% an output holds it
a = A.remote()
assert ray.get(a.ping.remote()) == "pong"
a
# %%
del a
b = A.remote()
waits = b.ping.remote()
shell = get_ipython()
said = ""
deadline = time.monotonic() + 60
while "%accel_release" not in said and time.monotonic() < deadline:
    time.sleep(0.2)
    from IPython.utils.capture import capture_output

    with capture_output() as shown:
        shell.run_line_magic("accel_why", "")
    said = shown.stdout + "".join(str(each.data) for each in shown.outputs)
assert "held by Out[" in said and "%accel_release" in said, said
# %%
get_ipython().run_line_magic("accel_release", "")
# %%
assert ray.get(waits, timeout=60) == "pong"
del b, waits
assert comes_back()
# %% the frames of an exception
# cell raises: KeyError


def fails():
    actor = A.remote()
    assert ray.get(actor.ping.remote()) == "pong"
    return {}["missing"]


fails()
# %%
get_ipython().run_line_magic("accel_release", "")
# %%
assert comes_back()
# %% a function that an earlier cell sent still has the actor of then
a = A.remote()


@ray.remote
def use():
    return ray.get(a.ping.remote())


assert ray.get(use.remote()) == "pong"
# %%
a = None
get_ipython().run_line_magic("accel_release", "")
# %%
assert comes_back()
a = A.remote()
assert ray.get(use.remote(), timeout=60) == "pong"  # the function was sent again

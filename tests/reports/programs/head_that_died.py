"""After the head was dead, put() returned a ref as if nothing had happened."""

# %%
import asyncio
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import nbaccel as ray
from nbaccel.views import sessions

ray.init(num_cpus=1)
kept = ray.put(5)


@ray.remote(num_returns="streaming")
def items():
    yield time.sleep(1000)


async def first(stream):
    async for item in stream:
        return item


stream = items.remote()
head = next(each for each in sessions.find() if each.owner_pid == os.getpid())
os.kill(head.pid, signal.SIGKILL)

# %%
deadline = time.monotonic() + 60
while True:
    try:
        ray.put(1)
    except ray.exceptions.RaySystemError as error:
        assert "SIGKILL" in str(error), error
        break
    assert time.monotonic() < deadline


# %%
# A stream that was open then, and one that is asked for later: `async for` and `for` waited for ever.
def asynchronously():
    with ThreadPoolExecutor(1) as pool:  # a notebook's main thread has a loop already
        return pool.submit(asyncio.run, asyncio.wait_for(first(stream), 60)).result()


for wait in (asynchronously, lambda: next(items.remote())):
    try:
        wait()
    except ray.exceptions.RaySystemError as error:
        assert "SIGKILL" in str(error), error
    else:
        raise AssertionError("nothing was raised")

# %%
ray.shutdown()
ray.init(num_cpus=1)
assert ray.get(ray.put(1)) == 1

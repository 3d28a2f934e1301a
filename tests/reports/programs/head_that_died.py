"""After the head was dead, put() returned a ref as if nothing had happened."""

# %%
import os
import signal
import time

import nbaccel as ray
from nbaccel.views import sessions

ray.init(num_cpus=1)
kept = ray.put(5)
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
ray.shutdown()
ray.init(num_cpus=1)
assert ray.get(ray.put(1)) == 1

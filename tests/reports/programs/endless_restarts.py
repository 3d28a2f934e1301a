"""An actor with endless restarts whose process always ends restarted 58 times in ten seconds, in silence."""

# %%
import os
import tempfile
import time

import nbaccel as ray

ray.init(num_cpus=1)
STARTS = os.path.join(tempfile.mkdtemp(), "starts")


@ray.remote(max_restarts=-1, max_task_retries=-1)
class Ends:
    def __init__(self):
        with open(STARTS, "a") as file:
            file.write(".")

    async def end(self):
        os._exit(3)


actor = Ends.remote()
call = actor.end.remote()
deadline = time.monotonic() + 60
while "pauses" not in (why := str(ray.explain(call))):
    assert time.monotonic() < deadline, why
    time.sleep(0.05)

# %%
assert "exited with code 3" in str(ray.explain(call)), ray.explain(call)
with open(STARTS) as file:
    starts = file.read()
os.unlink(STARTS)
assert len(starts) < 30, starts
ray.kill(actor)
try:
    ray.get(call)
except ray.exceptions.RayActorError:
    pass
else:
    raise AssertionError("nothing was raised")

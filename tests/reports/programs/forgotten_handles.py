"""A cell that made actors could not run again: an earlier output and the last traceback held the actors of before."""

# only: kernel
# %%
import time

from IPython import get_ipython

import nbaccel as ray

shell = get_ipython()
shell.run_line_magic("load_ext", "nbaccel")
shell.run_line_magic("accel_init", "num_gpus=2 num_cpus=4")


@ray.remote(num_gpus=1)
class Shown:
    def ping(self):
        return "pong"


Raised = ray.remote(num_gpus=1)(type("Raised", (), {"ping": lambda self: "pong"}))


def fails():
    agents = [Raised.remote()]
    ray.get(agents[0].ping.remote())
    raise ValueError("after the actor was made")


# %%
shown = Shown.remote()
ray.get(shown.ping.remote())
shown
# %%
# cell raises: ValueError
fails()
# %%
del shown
from nbaccel.notebook import hidden_handles

places = " ".join(hidden_handles.found(shell))
assert "actor Shown in Out[" in places and "variable agents of fails, in the last traceback" in places, places
# %%
shell.run_line_magic("accel_release", "")
# %%
deadline = time.monotonic() + 60
while ray.available_resources().get("GPU") != 2:
    assert time.monotonic() < deadline, ray.snapshot()
assert hidden_handles.found(shell) == []

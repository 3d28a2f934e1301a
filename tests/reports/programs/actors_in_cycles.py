"""A cell that makes actors could not run again: the actors of the run before were held by a cycle, or by a function."""

# %%
import gc

import nbaccel as ray

ray.init(num_cpus=4, num_gpus=2)
gc.disable()  # Python's own looks come when they come


@ray.remote(num_gpus=1)
class A:
    def ping(self):
        return "pong"


class Pool:
    def __init__(self):
        self.agents = [A.remote() for _ in range(2)]
        self.me = self


# %%
for _ in range(3):
    pool = Pool()
    assert ray.get([agent.ping.remote() for agent in pool.agents], timeout=60) == ["pong", "pong"]
# %%
for _ in range(3):
    pool = Pool()
    assert ray.get([agent.ping.remote() for agent in pool.agents], timeout=60) == ["pong", "pong"]
del pool

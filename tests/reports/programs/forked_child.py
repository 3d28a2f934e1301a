"""A child that multiprocessing forks started a cluster of its own in silence, and held lost refs for ready ones."""

# %%
import multiprocessing
import os

import nbaccel as ray

ray.init(num_cpus=1)
ref = ray.put(5)


@ray.remote
class Counter:
    def pid(self):
        return os.getpid()


counter = Counter.remote()
ray.get(counter.pid.remote())
fork = multiprocessing.get_context("fork")


@ray.remote
def one():
    return 1


def refused(number):
    """What each use of the parent's cluster raises in the child, and what its own cluster gives."""
    uses = [
        lambda: ray.get(ref),
        lambda: ray.put(5),
        lambda: ray.wait([ref]),
        lambda: one.remote(),
        lambda: Counter.remote(),
        lambda: ray.get(counter.pid.remote()),
        lambda: ray.cluster_resources(),
    ]
    raised = []
    for use in uses:
        try:
            use()
        except Exception as error:
            raised.append(f"{type(error).__name__}: {error}")
        else:
            raised.append("nothing")
    assert not ray.is_initialized()
    return raised


# %%
with fork.Pool(1) as pool:
    (raised,) = pool.map(refused, [0])
assert all("was forked from" in each for each in raised), raised
assert str(os.getpid()) in raised[0] and "Pool" in raised[0]
assert ray.get([ref, one.remote(), counter.pid.remote()])[:2] == [5, 1]


# %%
def own_cluster(number):
    ray.init(num_cpus=1)
    value = ray.get(one.remote())
    ray.shutdown()
    return value


with fork.Pool(1) as pool:
    assert pool.map(own_cluster, [0]) == [1]
assert ray.get([ref, one.remote(), counter.pid.remote()])[:2] == [5, 1]


# %%
# A ref goes to a child and back.
with fork.Pool(1) as pool:
    (back,) = pool.map(list, [[ref]])
assert ray.get(back) == [5]

"""A dataflow of Hamilton's, each function of which its adapter for Ray runs as a task."""

import os

import flow
import ray
from hamilton import base, driver
from hamilton.plugins.h_ray import RayGraphAdapter

ray.init(num_cpus=2)
adapter = RayGraphAdapter(result_builder=base.DictResult())
found = driver.Driver({"number": 3, "extra": 1}, flow, adapter=adapter).execute(["doubled", "total", "pid"])
assert ray.__name__ == "nbaccel"
assert (found["doubled"], found["total"]) == (6, 7) and found["pid"] != os.getpid(), found
print("Hamilton's dataflow gave 7")

"""The examples of the accelerator guide and of the book's chapter on GPUs, as they were written for Ray."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """One accelerator family's copy of the guide's first example."""

    init: str
    option: str
    actor: str
    task: str
    label: str
    resource: str
    variable: str
    values: tuple[str, str]
    simulate: str = ""


FAMILIES = {
    "nvidia": Family(
        "num_gpus=2", "num_gpus=1", "GPUActor", "gpu_task", "GPU IDs", "GPU", "CUDA_VISIBLE_DEVICES", ("0", "1")
    ),
    "amd": Family(
        "num_gpus=2",
        "num_gpus=1",
        "GPUActor",
        "gpu_task",
        "GPU IDs",
        "GPU",
        "ROCR_VISIBLE_DEVICES",
        ("0", "1"),
        simulate="amd:2xMI300X",
    ),
    "intel": Family(
        "num_gpus=2",
        "num_gpus=1",
        "GPUActor",
        "gpu_task",
        "GPU IDs",
        "GPU",
        "ONEAPI_DEVICE_SELECTOR",
        ("level_zero:0", "level_zero:1"),
        simulate="intel:2xMax-1550",
    ),
    "neuron": Family(
        'resources={"neuron_cores": 2}',
        'resources={"neuron_cores": 1}',
        "NeuronCoreActor",
        "neuron_core_task",
        "Neuron Core IDs",
        "neuron_cores",
        "NEURON_RT_VISIBLE_CORES",
        ("0", "1"),
    ),
    "tpu": Family(
        'resources={"TPU": 2}',
        'resources={"TPU": 1}',
        "TPUActor",
        "tpu_task",
        "TPU IDs",
        "TPU",
        "TPU_VISIBLE_CHIPS",
        ("0", "1"),
    ),
    "gaudi": Family(
        'resources={"HPU": 2}',
        'resources={"HPU": 1}',
        "HPUActor",
        "hpu_task",
        "HPU IDs",
        "HPU",
        "HABANA_VISIBLE_MODULES",
        ("0", "1"),
    ),
    "ascend": Family(
        'resources={"NPU": 2}',
        'resources={"NPU": 1}',
        "NPUActor",
        "npu_task",
        "NPU IDs",
        "NPU",
        "ASCEND_RT_VISIBLE_DEVICES",
        ("0", "1"),
    ),
}

_FIRST = """\
import os
import ray

ray.init({init})

@ray.remote({option})
class {actor}:
    def ping(self):
        print("{label}: {{}}".format(ray.get_runtime_context().get_accelerator_ids()["{resource}"]))
        print("{variable}: {{}}".format(os.environ["{variable}"]))

@ray.remote({option})
def {task}():
    print("{label}: {{}}".format(ray.get_runtime_context().get_accelerator_ids()["{resource}"]))
    print("{variable}: {{}}".format(os.environ["{variable}"]))

handle = {actor}.remote()
ray.get(handle.ping.remote())
# The actor uses the first one, so the task uses the second one.
ray.get({task}.remote())
"""


def first_example(family: Family) -> str:
    """An actor and a task, each on a device of its own."""
    return _FIRST.format(**{name: getattr(family, name) for name in Family.__dataclass_fields__})


FRACTIONS = """\
import ray
ray.init(num_cpus=4, {init})

@ray.remote({option})
def f():
    import time

    time.sleep(1)

# The four tasks created here can execute concurrently
# and share the same device.
ray.get([f.remote() for _ in range(4)])
"""

PACKING = """\
import ray
ray.init(num_gpus=3)

@ray.remote(num_gpus=0.5)
class FractionalGPUActor:
    def ping(self):
        print("GPU id: {}".format(ray.get_runtime_context().get_accelerator_ids()["GPU"]))

fractional_gpu_actors = [FractionalGPUActor.remote() for _ in range(3)]
# Ray tries to pack GPUs if possible.
[ray.get(fractional_gpu_actors[i].ping.remote()) for i in range(3)]
"""

ACCELERATOR_TYPE = """\
import ray
from ray.util.accelerators import NVIDIA_TESLA_V100

@ray.remote(num_gpus=1, accelerator_type=NVIDIA_TESLA_V100)
def train(data):
    return "This function was run on a node with a Tesla V100 GPU"

print(ray.get(train.remote(1)))
"""

WRAPPED_KERNEL = """\
import ray
from numba import float32, njit
import numpy as np

@njit
def mul_two(io_array):
    for pos in range(io_array.size):
        io_array[pos] *= 2 # do the computation
    return io_array

@ray.remote
def remote_mul(input_array):
    # This implicitly transfers the array into the GPU and back, which is not free
    return mul_two(input_array.copy())

print(ray.get(remote_mul.remote(np.arange(4.0))).tolist())
"""

RELEASING = """\
import os
import ray

# Request a full GPU, like CPUs we can request fractional
@ray.remote(num_gpus=1)
def do_serious_work():
    return os.getpid()

# Restart entire worker after each call
@ray.remote(num_gpus=1, max_calls=1)
def do_other_work():
    return os.getpid()

ray.init(num_gpus=1)
pids = [ray.get(work.remote()) for work in (do_serious_work, do_other_work) for _ in range(3)]
print(len(set(pids)))
"""

CPU_FALLBACK = """\
import ray
ray.init({init})

# Function that requests a GPU
@ray.remote(num_gpus=1)
def do_i_have_gpus():
    return True

# Give it at most a while to see if we can get a GPU
futures = [do_i_have_gpus.remote()]
ready_futures, rest_futures = ray.wait(futures, timeout={timeout})

resources = {{"num_cpus": 1}}
# If we have a ready future, we have a GPU node in our cluster
if ready_futures:
    resources["num_gpus"] =1

# "splat" the resources
@ray.remote(** resources)
def optional_gpu_task():
    return ray.get_gpu_ids()

print(ray.get(optional_gpu_task.remote()))
"""

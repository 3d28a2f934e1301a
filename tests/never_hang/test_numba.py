"""Numba inside remote functions, on its CUDA simulator: the book's kernel, a NumPy fallback, data kept on a device."""

from __future__ import annotations

import pytest

from tests.census import Place

pytest.importorskip("numba")

# Example 11-1 of the book; only the launch has got its configuration, without which Numba refuses it.
KERNEL = """\
import nbaccel as ray
import numpy as np
from numba import cuda, float32

# CUDA kernel
@cuda.jit
def mul_two(io_array):
    pos = cuda.grid(1)
    if pos < io_array.size:
        io_array[pos] *= 2 # do the computation

@ray.remote{options}
def remote_mul(input_array):
    # This implicitly transfers the array into the GPU and back, which is not free
    output = input_array.copy()  # arguments are read-only
    mul_two[1, output.size](output)
    return output

ray.init(num_cpus=2, num_gpus={gpus})
"""


def run(place: Place, options: str, gpus: int, program: str) -> list[str]:
    done = place.run(KERNEL.format(options=options, gpus=gpus) + program, NUMBA_ENABLE_CUDASIM="1")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_books_kernel_runs_in_a_remote_function(place: Place) -> None:
    program = "print(ray.get(remote_mul.remote(np.arange(4.0))).tolist())"
    assert run(place, "", 0, program) == ["[0.0, 2.0, 4.0, 6.0]"]
    assert run(place, "(num_gpus=1)", 1, program) == ["[0.0, 2.0, 4.0, 6.0]"]


def test_numpy_stands_in_where_there_is_no_gpu(place: Place) -> None:
    program = """
@remote_mul.fallback
def mul_two_np(input_array):
    return input_array * 2 if ray.get_runtime_context().fallback_taken else None

ref = remote_mul.remote(np.arange(4.0))
print(ray.get(ref).tolist())
print([row.choice_why for row in ray.snapshot().tasks])
"""
    assert run(place, "(num_gpus=1, fallback='cpu')", 0, program) == [
        "[0.0, 2.0, 4.0, 6.0]",
        "['cpu was taken, because there is no GPU on this machine']",
    ]


def test_numpy_answers_when_the_driver_does_not_start(place: Place) -> None:
    program = """
from numba.cuda.simulator.cudadrv.error import CudaSupportError

@ray.remote(num_gpus=1, fallback='cpu', fallback_on=(CudaSupportError,))
def mul(values):
    raise CudaSupportError("Error at driver init: no CUDA-capable device is detected")

@mul.fallback
def mul_np(values):
    return values * 2

print(ray.get(mul.remote(np.arange(4.0))).tolist())
print([row.choice_why for row in ray.snapshot().tasks if row.name == "mul"])
"""
    assert run(place, "", 1, program) == [
        "[0.0, 2.0, 4.0, 6.0]",
        "['cpu was taken, because the choice before raised CudaSupportError: Error at driver init: no CUDA-capable "
        "device is detected']",
    ]


def test_an_actor_keeps_its_data_on_the_device_between_calls(place: Place) -> None:
    program = """
@ray.remote(num_gpus=1)
class Keeper:
    def __init__(self, values):
        self.values = cuda.to_device(values)
    def double(self):
        mul_two[1, self.values.size](self.values)
        return id(self.values)
    def get(self):
        return self.values.copy_to_host()

keeper = Keeper.remote(np.arange(4.0))
print(len({ray.get(keeper.double.remote()) for _ in range(3)}), ray.get(keeper.get.remote()).tolist())
"""
    assert run(place, "", 1, program) == ["1 [0.0, 8.0, 16.0, 24.0]"]

"""Errors that hid their cause: a full disk in a run or a trial, a process that ends by itself, a mistyped device."""

# %%
import os
import tempfile

import nbaccel as ray
from nbaccel import train, tune
from nbaccel.train.data_parallel_trainer import DataParallelTrainer

os.environ["NBACCEL_STORAGE"] = tempfile.mkdtemp()
ray.init(num_cpus=2)
FULL = "No space left on device for /dev/full: "


# %% a full disk is named with the file
def saves(config):
    with open("/dev/full", "w", buffering=1) as file:  # as the disk of a checkpoint
        file.write("weights\n")


try:
    DataParallelTrainer(saves, train_loop_config={}).fit()
except train.TrainingFailedError as error:
    assert FULL in str(error), error
else:
    raise AssertionError("nothing was raised")
(reason,) = tune.Tuner(saves, param_space={"x": 1}).fit().failures()
assert FULL in reason, reason


# %% a process that ends by itself says what it wrote last
@ray.remote(max_retries=0)
def gives_up():
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
    os.abort()


try:
    ray.get(gives_up.remote())
except ray.exceptions.WorkerCrashedError as error:
    assert "SIGABRT" in str(error) and "  terminate called after throwing an instance of" in str(error), error
ray.shutdown()
# %% what is offered for a mistyped device is accepted
try:
    ray.init(simulate="nvidai:2xA100")
except ValueError as error:
    assert "Did you mean 'nvidia:2xA100'?" in str(error), error
ray.init(simulate="nvidia:2xA100", num_cpus=1)
ray.shutdown()

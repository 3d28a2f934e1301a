"""Things that a new user met in the first hour: calls that are wrong by little, fits without init, CUDA on a laptop."""

# %%
import os
import tempfile
from types import SimpleNamespace

import nbaccel as ray
from nbaccel import train, tune
from nbaccel.train.data_parallel_trainer import DataParallelTrainer

os.environ["NBACCEL_STORAGE"] = tempfile.mkdtemp()


def reports(config=None):
    tune.report({"loss": 1.0}) if config is not None else train.report({"loss": 1.0})


# %% a tuner starts a cluster, as f.remote() does
assert not ray.is_initialized()
assert len(tune.Tuner(reports, param_space={"x": 1}).fit()) == 1
ray.shutdown()
# %% so does a trainer
assert DataParallelTrainer(reports).fit().metrics["loss"] == 1.0
ray.shutdown()


# %% trials that all fail for one reason are one sentence
def fails(config):
    raise ValueError(f"no such file: {tempfile.gettempdir()}/{config['x']}")


try:
    tune.Tuner(fails, param_space={"x": tune.grid_search([1, 2, 3])}).fit()
except tune.TuneError as error:
    said = str(error)
    assert "All 3 trials failed for one reason" in said and "ValueError: no such file" in said, said
    assert "/1. The results are in Tuner.get_results()" in said, said
else:
    raise AssertionError("three trials failed in silence")
ray.shutdown()
# %% a call that does not fit names the function and what it takes
ray.init(num_cpus=2, num_gpus=1)


@ray.remote
def f(x, y=1): ...


@ray.remote
class Counter:
    def __init__(self, start): ...

    def add(self, number): ...


def raised(call):
    try:
        call()
    except Exception as error:
        return str(error), "\n".join(getattr(error, "__notes__", []))
    raise AssertionError("nothing was raised")


assert raised(lambda: f.remote())[0] == "f(x, y=…): missing a required argument: 'x'"
assert raised(lambda: Counter.remote())[0] == "Counter(start): missing a required argument: 'start'"
counter = Counter.remote(1)
assert "add(number): missing a required argument: 'number'" in raised(lambda: counter.add.remote())[0]


# %% CUDA code on a GPU that is only counted
@ray.remote(num_gpus=1)
def cuda():
    raise AssertionError("Torch not compiled with CUDA enabled")


@ray.remote
def no_gpu():
    raise AssertionError("Torch not compiled with CUDA enabled")


if not os.path.exists("/dev/nvidiactl"):
    assert "only counted" in "".join(raised(lambda: ray.get(cuda.remote())))
assert "only counted" not in "".join(raised(lambda: ray.get(no_gpu.remote())))


torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False), _C=SimpleNamespace())


def train_func():
    assert torch.cuda.is_available()


@ray.remote(num_gpus=1)
def sets_device():
    torch._C._cuda_setDevice(0)  # as torch.cuda.set_device does where torch is built without CUDA


@ray.remote(num_gpus=1)
def other_mistake():
    cuda_batch = 3
    assert cuda_batch, "empty"
    assert cuda_batch == 4, "wrong size"


if not os.path.exists("/dev/nvidiactl"):
    assert "only counted" in "".join(raised(lambda: ray.get(sets_device.remote())))
assert "only counted" not in "".join(raised(lambda: ray.get(other_mistake.remote())))
one_gpu = train.ScalingConfig(num_workers=1, use_gpu=True)
if not os.path.exists("/dev/nvidiactl"):
    assert "only counted" in raised(lambda: DataParallelTrainer(train_func, scaling_config=one_gpu).fit())[0]

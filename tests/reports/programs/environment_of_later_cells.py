"""os.environ, sys.path and %cd of later cells did not reach tasks, and nothing said so."""

# only: kernel
# %%
import os
import sys
import tempfile
from pathlib import Path

import nbaccel as ray
from nbaccel.views import sinks

os.environ["OF_BEFORE"] = "1"
ray.init(num_cpus=2, num_gpus=1)
notices = []
show = sinks.installed.notice
sinks.installed.notice = lambda message: (notices.append(message.message), show(message))


@ray.remote
def seen():
    return os.environ.get("HF_TOKEN"), os.getcwd()


@ray.remote
def nested():
    return ray.get(seen.remote())


@ray.remote
def imported():
    import lies_elsewhere

    return lies_elsewhere.VALUE


@ray.remote
class Actor:
    def seen(self):
        return os.environ.get("HF_TOKEN"), os.getcwd()

    def nested(self):
        return ray.get(seen.remote())


here = os.getcwd()
living = Actor.remote()
assert ray.get([seen.remote(), nested.remote(), living.seen.remote()]) == [(None, here)] * 3
assert not notices
# %%
os.environ["HF_TOKEN"] = "hf_secret"
# %%
assert ray.get([seen.remote(), nested.remote()]) == [("hf_secret", here)] * 2
assert ray.get(seen.options(num_gpus=1).remote()) == ("hf_secret", here)
new = Actor.remote()
assert ray.get([new.seen.remote(), new.nested.remote()]) == [("hf_secret", here)] * 2
assert ray.get(living.seen.remote()) == (None, here), "a living actor keeps what it had"
asked = {"env_vars": {"HF_TOKEN": "asked"}}
assert ray.get(seen.options(runtime_env=asked).remote())[0] == "asked", "runtime_env wins"
assert len(notices) == 1 and "Workers now see HF_TOKEN." in notices[0], notices
# %%
os.environ["HF_TOKEN"] = "hf_other"
# %%
assert ray.get(seen.remote())[0] == "hf_other"
assert len(notices) == 1, "each name is told once"
# %%
elsewhere = tempfile.mkdtemp()
Path(elsewhere, "lies_elsewhere.py").write_text("VALUE = 7")
sys.path.insert(0, elsewhere)
# %%
assert ray.get(imported.remote()) == 7
assert len(notices) == 2 and f"{elsewhere} (sys.path)" in notices[1], notices
# %%
os.chdir(elsewhere)  # as %cd does
del os.environ["HF_TOKEN"], os.environ["OF_BEFORE"]
# %%
assert ray.get([seen.remote(), nested.remote()]) == [(None, os.path.realpath(elsewhere))] * 2
assert len(notices) == 3 and f"OF_BEFORE (unset) and {os.path.realpath(elsewhere)} (working directory)" in notices[2]
assert not any("hf_" in notice for notice in notices), "values are never shown"
# %%
os.environ["CUDA_VISIBLE_DEVICES"] = "7"  # nbaccel's own business, as is the next
os.environ["NBACCEL_SOMETHING"] = "1"
# %%
variables = ray.remote(lambda: dict(os.environ))
of_task = ray.get(variables.options(num_gpus=1).remote())
assert of_task["CUDA_VISIBLE_DEVICES"] == "0" and not {"NBACCEL_SOMETHING", "OF_BEFORE"} & set(of_task)
assert len(notices) == 3
# %%
from nbaccel import train, tune
from nbaccel.train import RunConfig, ScalingConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer

sys.path.insert(0, here)  # this program may have been run from a checkout
os.environ["LEARNING_RATE"] = "0.5"


def fit(config):
    train.report({"loss": float(os.environ["LEARNING_RATE"])})


# %%
config = RunConfig(storage_path=tempfile.mkdtemp())
trainer = DataParallelTrainer(fit, scaling_config=ScalingConfig(num_workers=2), run_config=config)
assert trainer.fit().metrics["loss"] == 0.5
# %%
os.environ["LEARNING_RATE"] = "0.25"
# %%
tuner = tune.Tuner(
    lambda config: tune.report({"loss": float(os.environ["LEARNING_RATE"])}),
    param_space={"rate": tune.grid_search([1, 2])},
    run_config=config,
)
assert [each.metrics["loss"] for each in tuner.fit()] == [0.25, 0.25]

"""What the configs, checkpoints and results say of themselves."""

import os
from pathlib import Path

from pyarrow import fs
from ray import train
from ray.train import Checkpoint, ScalingConfig

CONFIGS = {
    "one": ScalingConfig(),
    "gpus": ScalingConfig(num_workers=8, use_gpu=True),
    "parts": ScalingConfig(num_workers=4, use_gpu=True, resources_per_worker={"CPU": 4, "GPU": 0.5, "memory": 1e9}),
    "typed": ScalingConfig(num_workers=2, use_gpu=True, accelerator_type="A100"),
    "elastic": ScalingConfig(num_workers=(2, 6)),
    "custom": ScalingConfig(num_workers=3, resources_per_worker={"special": 1}, placement_strategy="SPREAD"),
    "tpu": ScalingConfig(use_tpu=True, resources_per_worker={"TPU": 4}),
}


def facts(config):
    factory = config.as_placement_group_factory() if isinstance(config.num_workers, int) else None
    return {
        "total": config.total_resources,
        "each": [config.num_cpus_per_worker, config.num_gpus_per_worker, config.num_tpus_per_worker],
        "more": config.additional_resources_per_worker,
        "workers": [config.min_workers, config.max_workers, config.elasticity_enabled],
        "bundles": [factory.bundles, factory.strategy] if factory else None,
        "same": config == ScalingConfig(**vars(config)),
    }


answer = {name: facts(config) for name, config in CONFIGS.items()}
factory = CONFIGS["custom"].as_placement_group_factory()
back = ScalingConfig.from_placement_group_factory(factory)
answer["back"] = [back.num_workers, back.total_resources, back.placement_strategy, back.use_gpu]

folder = Path("a_checkpoint").absolute()
folder.mkdir()
(folder / "weights.txt").write_text("1 2 3")
checkpoint = Checkpoint.from_directory(folder)
checkpoint.set_metadata({"step": 1})
checkpoint.update_metadata({"more": [1, 2]})
copy = checkpoint.to_directory(os.path.abspath("a_copy"))
given = Checkpoint(str(folder), filesystem=fs.LocalFileSystem())
inside = Checkpoint("a_checkpoint", filesystem=fs.SubTreeFileSystem(str(folder.parent), fs.LocalFileSystem()))
with given.as_directory() as there, inside.as_directory() as elsewhere:
    answer["checkpoint"] = {
        "path": checkpoint.path == str(folder),
        "metadata": checkpoint.get_metadata(),
        "copied": sorted(os.listdir(copy)),
        "given": [there == str(folder), Path(elsewhere, "weights.txt").read_text()],
        "filesystems": [type(each.filesystem).__name__ for each in (checkpoint, given, inside)],
        "of the other": inside.get_metadata(),
    }
answer["defaults"] = [
    train.FailureConfig().max_failures,
    train.CheckpointConfig().num_to_keep,
    train.CheckpointConfig().checkpoint_score_order,
    train.RunConfig(name="n").name,
    train.LoggingConfig(log_level="debug").log_level,
    train.RunConfig(callbacks=None).callbacks,
    train.RunConfig(worker_runtime_env=None).worker_runtime_env,
    type(train.RunConfig(failure_config=None).failure_config).__name__,
    train.RunConfig(storage_path=Path("/tmp/x")).storage_path,
]

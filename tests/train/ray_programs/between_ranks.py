"""What ranks know, send each other, and return."""

import os
import tempfile
from pathlib import Path

import torch
import torch.distributed
from ray import train
from ray.train import Checkpoint, CheckpointUploadMode, RunConfig, ScalingConfig
from ray.train.collective import barrier, broadcast_from_rank_zero
from ray.train.torch import TorchConfig, TorchTrainer, get_device, get_devices, prepare_data_loader, prepare_model


def train_func(config):
    context = train.get_context()
    rank = context.get_world_rank()
    barrier()
    sent = broadcast_from_rank_zero({"from": rank})
    total = torch.tensor([rank + 1.0])
    torch.distributed.all_reduce(total)
    model = prepare_model(torch.nn.Linear(2, 1))
    plain = prepare_model(torch.nn.Linear(2, 1), parallel_strategy=None)
    data = torch.utils.data.TensorDataset(torch.arange(20.0).reshape(10, 2))
    loader = prepare_data_loader(torch.utils.data.DataLoader(data, batch_size=2))
    whole = prepare_data_loader(torch.utils.data.DataLoader(data, batch_size=2), add_dist_sampler=False)
    rows = [row for (batch,) in loader for row in batch[:, 0].tolist()]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"rank{rank}.txt").write_text(str(rank))
        train.report({"step": 1}, checkpoint=Checkpoint(folder))
    kept = tempfile.mkdtemp()
    Path(kept, "later.txt").write_text("2")
    train.report(
        {"step": 2},
        checkpoint=Checkpoint(kept) if rank == 0 else None,
        checkpoint_dir_name="named",
        checkpoint_upload_mode=CheckpointUploadMode.ASYNC,
    )
    reported = train.get_all_reported_checkpoints()
    return {
        "ranks": [rank, context.get_local_rank(), context.get_node_rank()],
        "sizes": [context.get_world_size(), context.get_local_world_size()],
        "name": context.get_experiment_name(),
        "sent": sent,
        "total": total.item(),
        "wrapped": [type(model).__name__, type(plain).__name__],
        "device": [str(get_device()), [str(each) for each in get_devices()]],
        "rows": rows,
        "batches": [len(loader), len(whole), isinstance(loader.sampler, torch.utils.data.DistributedSampler)],
        "backend": torch.distributed.get_backend(),
        "variables": [os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")],
        "own": os.environ["OWN"],
        "reported": [
            [each.metrics["step"], sorted(os.listdir(each.checkpoint.path)), each.status.name] for each in reported
        ],
        "deleted": not os.path.exists(kept),
        "config": config,
        "preempted": train.get_preemption_info(),
    }


trainer = TorchTrainer(
    train_func,
    train_loop_config={"lr": 0.1},
    torch_config=TorchConfig(backend="gloo", timeout_s=100),
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(
        name="between", storage_path=os.path.abspath("ranks"), worker_runtime_env={"env_vars": {"OWN": "yes"}}
    ),
)
result = trainer.fit()
answer = {
    "returned": result.return_value,
    "metrics": result.metrics["step"],
    "latest": os.path.basename(result.checkpoint.path),
    "path": os.path.basename(result.path),
}

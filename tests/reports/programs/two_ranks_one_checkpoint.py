"""Two ranks that brought a file of one name failed the run, and a failed rank ended the checkpoint of a slower one."""

# %%
import json
import tempfile
import time
from pathlib import Path

import nbaccel as ray
from nbaccel import train
from nbaccel.train import Checkpoint, FailureConfig, RunConfig, ScalingConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer

ray.init(num_cpus=2)


# %%
def one_name() -> None:
    rank = train.get_context().get_world_rank()
    with tempfile.TemporaryDirectory() as mine:
        Path(mine, "model").write_text(f"of {rank}")
        Path(mine, "config").write_text("of both")
        train.report({"rank": rank}, checkpoint=Checkpoint.from_directory(mine))


with tempfile.TemporaryDirectory() as folder:
    two, kept = ScalingConfig(num_workers=2), RunConfig(name="names", storage_path=folder)
    result = DataParallelTrainer(one_name, scaling_config=two, run_config=kept).fit()
    with result.checkpoint.as_directory() as there:
        found = {str(path.relative_to(there)): path.read_text() for path in Path(there).rglob("*") if path.is_file()}
    assert found == {"model": "of 0", "rank_1/model": "of 1", "config": "of both"}, found


# %%
def slow_writer() -> int:
    """Rank 1 reports without a checkpoint and fails at once; rank 0 takes a second for each of its own."""
    rank, earlier = train.get_context().get_world_rank(), train.get_checkpoint()
    start = json.loads(Path(earlier.path, "epoch").read_text()) + 1 if earlier else 0
    for epoch in range(start, 4):
        checkpoint = None
        if rank == 0:
            time.sleep(1)  # what the report was about: a rank that is slower
            mine = tempfile.mkdtemp()
            Path(mine, "epoch").write_text(json.dumps(epoch))
            checkpoint = Checkpoint.from_directory(mine)
        train.report({"epoch": epoch}, checkpoint=checkpoint)
        if epoch == 1:
            raise ValueError("after epoch 1")
    return start


with tempfile.TemporaryDirectory() as folder:
    kept = RunConfig(name="slow", storage_path=folder, failure_config=FailureConfig(max_failures=1))
    result = DataParallelTrainer(slow_writer, scaling_config=two, run_config=kept).fit()
    assert result.return_value == 2, result.return_value
    assert [each["epoch"] for each in result.history] == [0, 1, 2, 3], result.history

"""The same training by DDP on nbaccel and by torchrun, in interleaved pairs: CPU seconds of both ranks, and wall time.

    python benchmarks/ddp.py --pairs 7

Two ranks on CPUs train a small network with the same seeds; both must end with the same loss. nbaccel's ranks report
every hundred steps, torchrun's print a line. Measured is what lies between the first and the last step, without the
import of torch, which torchrun pays in each rank. CPU is that of a rank's whole process, with nbaccel's own threads in
it, and of the children that it has waited for. A ratio is that of one pair, and the order changes from pair to pair.
Printed are the geometric mean of the ratios and its 95 % interval by Student's t. Seven pairs take about five minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]  # started as a script, the directory above is not there

from benchmarks import rounds  # noqa: E402

WIDTH, BATCH, REPORT_EVERY = 512, 128, 100
ROWS = {"cpu": "CPU of both ranks, first to last step (s)", "wall": "wall time, first to last step (s)"}


def cpu_s() -> float:
    """CPU seconds of this process, of all its threads, and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def trained(steps: int, report: Callable[[dict[str, float]], None]) -> dict[str, float]:
    """In a rank that has its process group: train, and return what it cost this rank."""
    import torch
    from torch import distributed, nn

    torch.manual_seed(0)
    layers = [nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(16, BATCH, WIDTH, generator=torch.Generator().manual_seed(distributed.get_rank()))
    distributed.barrier()
    clock, cpu = time.perf_counter(), cpu_s()
    loss = torch.zeros(())
    for step in range(steps):
        batch = data[step % len(data)]
        loss = (model(batch).squeeze(1) - batch.mean(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % REPORT_EVERY == REPORT_EVERY - 1:
            report({"step": step, "loss": loss.item()})
    sums = torch.tensor([cpu_s() - cpu, loss.item()], dtype=torch.float64)
    wall = time.perf_counter() - clock
    distributed.all_reduce(sums)
    return {"cpu": float(sums[0]), "wall": wall, "loss": float(sums[1]), "threads": torch.get_num_threads()}


def in_worker(config: dict[str, int]) -> dict[str, float]:
    from nbaccel import train

    return trained(config["steps"], train.report)


def nbaccel_figures(steps: int) -> dict[str, float]:
    import nbaccel
    from nbaccel.train import RunConfig, ScalingConfig
    from nbaccel.train.torch import TorchTrainer

    nbaccel.init(num_cpus=2, preload=["torch"])
    with tempfile.TemporaryDirectory() as storage:
        trainer = TorchTrainer(
            in_worker,
            train_loop_config={"steps": steps},
            scaling_config=ScalingConfig(num_workers=2),
            run_config=RunConfig(storage_path=storage),
        )
        result = trainer.fit()
    nbaccel.shutdown()
    assert len(result.history) == steps // REPORT_EVERY
    found: dict[str, float] = result.return_value
    return found


def torchrun_figures(steps: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        command += [__file__, "--steps", str(steps), "--rank-of", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found: dict[str, float] = json.loads(Path(folder, "figures").read_text())
        return found


def in_rank_of_torchrun(steps: int, folder: str) -> None:
    import torch

    torch.distributed.init_process_group("gloo")
    found = trained(steps, lambda metrics: print(metrics, flush=True))
    if torch.distributed.get_rank() == 0:
        Path(folder, "figures").write_text(json.dumps(found))
    torch.distributed.destroy_process_group()


CONTENDERS = {"nbaccel": nbaccel_figures, "torchrun": torchrun_figures}


def one(name: str, steps: int) -> dict[str, float]:
    """The figures of a contender in a process of its own."""
    command = [sys.executable, __file__, "--one", name, "--steps", str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def pair(number: int, steps: int) -> dict[str, dict[str, float]]:
    """The figures of both, one right after the other."""
    names = list(CONTENDERS) if number % 2 == 0 else list(reversed(CONTENDERS))
    both = {name: one(name, steps) for name in names}
    ours, theirs = both["nbaccel"], both["torchrun"]
    assert abs(ours["loss"] - theirs["loss"]) < 1e-6, both
    assert ours["threads"] == theirs["threads"] == 1, both
    cells = [f"{row} {ours[row]:.2f} {theirs[row]:.2f} ({ours[row] / theirs[row]:.3f})" for row in ROWS]
    print(f"pair {number + 1}: {', '.join(cells)}; load {os.getloadavg()[0]:.1f}", flush=True)
    return both


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--rank-of", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank_of:
        in_rank_of_torchrun(given.steps, given.rank_of)
    elif given.one:
        print(json.dumps(CONTENDERS[given.one](given.steps)))
    else:
        pairs = [pair(number, given.steps) for number in range(given.pairs)]
        for row, words in ROWS.items():
            print(f"{words}: {compared(row, pairs)}")


def compared(row: str, pairs: list[dict[str, Any]]) -> str:
    low, middle, high = rounds.interval([each["nbaccel"][row] / each["torchrun"][row] for each in pairs])
    return f"nbaccel / torchrun {middle:.4f}, interval {low:.4f} to {high:.4f}"


if __name__ == "__main__":
    main()

"""What a notebook user waits for: magics, Tab, Stop, and a kernel under a flood of printed lines.

    python benchmarks/notebook.py
    python benchmarks/notebook.py --lines 250000

Everything is measured through a real kernel, from the request to its reply; medians of `--rounds` rounds.
The flood is four tasks that print `--lines` lines each: all of them must be in the files, and the kernel must go on
answering small cells meanwhile.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.notebook.kernels import Kernel

SETUP = "%load_ext nbaccel\n%accel_init num_cpus=4 num_gpus=2\nimport nbaccel, time"
FLOOD = """
@nbaccel.remote
def flood(k, n):
    for i in range(n):
        print(f"task {{k}} line {{i}}")
    return n
began = time.perf_counter()
floods = [flood.remote(k, {lines}) for k in range(4)]
"""
MAGICS = ("%accel_status", "%accel_devices", "%accel_tasks", "%accel_why", "%accel_probe num_gpus=1")
TAB = """
from IPython import get_ipython
shell, times = get_ipython(), []
for _ in range(ROUNDS):
    started = time.perf_counter()
    shell.complete("", "%accel_init num_gp", 18)
    times.append(time.perf_counter() - started)
print(sorted(times)[len(times) // 2] * 1000)
"""
COUNT = """
import pathlib
from nbaccel import engine
folder = pathlib.Path(nbaccel.snapshot().runtime.log_dir)
print(sum(path.read_bytes().count(b" line ") for path in folder.glob("worker-*.out")))
"""


def median_ms(work: Callable[[], None], rounds: int) -> float:
    """The median of so many rounds, in milliseconds."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def magics(kernel: Kernel, rounds: int) -> None:
    empty = median_ms(lambda: kernel.run("pass") and None, rounds)
    for magic in (
        "%accel_status",
        "%accel_devices",
        "%accel_tasks",
        "%accel_why",
        "%accel_probe num_gpus=1",
        "%accel_config",
    ):
        took = median_ms(lambda magic=magic: kernel.run(magic) and None, rounds)  # type: ignore[misc]
        print(f"{magic:<26} {took - empty:7.1f} ms beside an empty cell's {empty:.1f}   goal 50")


def completion(kernel: Kernel, rounds: int) -> None:
    code = TAB.replace("ROUNDS", str(rounds))
    print(f"{'Tab after %accel_init':<26} {float(kernel.run(code).stdout):7.2f} ms   goal 5")


def stop(kernel: Kernel, rounds: int) -> None:
    kernel.run("@nbaccel.remote\ndef sleeps():\n    print('begun', flush=True)\n    time.sleep(600)")
    times = []
    for _ in range(rounds):
        cell = kernel.submit("nbaccel.get(sleeps.remote())")
        kernel.until(lambda cell=cell: "begun" in cell.text)  # type: ignore[misc]
        began = time.perf_counter()
        kernel.interrupt()
        kernel.finish(cell)
        times.append(time.perf_counter() - began)
    print(f"{'Stop to the idle kernel':<26} {statistics.median(times) * 1000:7.1f} ms   goal 150")


def flood(kernel: Kernel, lines: int) -> None:
    kernel.run(FLOOD.format(lines=lines))
    answers = []
    while True:
        began = time.perf_counter()
        done = kernel.run("print(len(nbaccel.wait(floods, num_returns=4, timeout=0)[0]))").stdout
        answers.append(time.perf_counter() - began)
        if "4" in done:
            break
    took = float(kernel.run("print(time.perf_counter() - began)").stdout)
    kernel.until(lambda: int(kernel.run(COUNT).stdout or 0) >= 4 * lines)
    found = int(kernel.run(COUNT).stdout)
    print(f"{'Flood':<26} {4 * lines / took:7.0f} lines/s; {found} of {4 * lines} lines in the files")
    worst = f"at worst {max(answers) * 1000:.0f} ms"
    print(f"{'A small cell meanwhile':<26} {statistics.median(answers) * 1000:7.1f} ms, {worst}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--lines", type=int, default=250_000, help="of each of the four tasks")
    options = parser.parse_args()
    kernel = Kernel()
    try:
        kernel.run(SETUP)
        magics(kernel, options.rounds)
        completion(kernel, options.rounds)
        stop(kernel, min(options.rounds, 11))
        flood(kernel, options.lines)
    finally:
        kernel.close()


if __name__ == "__main__":
    main()

"""The memory that a large frame takes in the process that gets it: after the get, after reading and after writing it.

python -m benchmarks.frames
"""

from __future__ import annotations

import gc
import time

import nbaccel

ROWS, COLUMNS = 12_500_000, 4  # 400 MB


def own_mb() -> float:
    """The memory that is no part of the store: written pages of a private mapping count as anonymous."""
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Anonymous:")) / 1000


def main() -> None:
    import numpy
    import pandas

    nbaccel.init(num_cpus=1, object_store_memory=1 << 30)
    frame = pandas.DataFrame({name: numpy.ones(ROWS) for name in "abcd"})
    ref = nbaccel.put(frame)
    del frame
    gc.collect()
    before = own_mb()
    started = time.perf_counter()
    frame = nbaccel.get(ref)
    print(f"get: {(time.perf_counter() - started) * 1000:.1f} ms, {own_mb() - before:.1f} MB of its own")
    assert all(frame[name].to_numpy().sum() == ROWS for name in frame)
    print(f"all of it read: {own_mb() - before:.1f} MB")
    frame.loc[3, "a"] = 5.0
    print(f"one cell written: {own_mb() - before:.1f} MB")
    frame["b"].to_numpy()[:] = 2.0
    print(f"one column of {ROWS * 8 / 1e6:.0f} MB written: {own_mb() - before:.1f} MB")
    assert nbaccel.get(ref)["a"].sum() == nbaccel.get(ref)["b"].sum() == ROWS
    nbaccel.shutdown()


if __name__ == "__main__":
    main()

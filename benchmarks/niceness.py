"""How quick a kernel stays while tasks use all CPUs, by the niceness of their workers.

python -m benchmarks.niceness 0 5 10 15
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time

from tests.notebook.kernels import Kernel

BUSY = os.cpu_count() or 1
BEGIN = f"""
import time
import nbaccel as ray
ray.init(num_cpus={BUSY})
@ray.remote
def spin():
    while True:
        pass
refs = [spin.remote() for _ in range({BUSY})]
time.sleep(2)
"""
COMPUTE = """
begun = time.perf_counter()
sum(number for number in range(3_000_000))
print(time.perf_counter() - begun)
"""


def main(niceness: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        own = {"JUPYTER_RUNTIME_DIR": folder, "NBACCEL_LEASE_DIR": f"{folder}/leases"}
        kernel = Kernel(RAY_worker_niceness=niceness, **own)
        try:
            kernel.run("import time")
            idle = statistics.median(float(kernel.run(COMPUTE).stdout) for _ in range(5))
            kernel.run(BEGIN)
            busy = statistics.median(float(kernel.run(COMPUTE).stdout) for _ in range(15))
            replies = sorted(_reply_s(kernel) for _ in range(100))
            print(
                f"niceness {niceness:>2}: a reply {replies[50] * 1e3:.1f} ms (p90 {replies[90] * 1e3:.1f}), "
                f"computing takes {busy / idle:.2f} times as long as alone"
            )
            kernel.run("for ref in refs: ray.cancel(ref, force=True)\nray.shutdown()")
        finally:
            kernel.close()


def _reply_s(kernel: Kernel) -> float:
    begun = time.perf_counter()
    kernel.run("1 + 1")
    return time.perf_counter() - begun


if __name__ == "__main__":
    for each in sys.argv[1:] or ["0", "5", "10", "15"]:
        main(each)

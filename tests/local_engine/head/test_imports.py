"""What a head does not load, because each head of each notebook would hold it in memory."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from nbaccel.local_engine.head import boot, loop
print(*sorted(name for name in ("_hashlib", "_ssl", "asyncio", "numpy", "rich") if name in sys.modules))
"""


def test_a_head_loads_neither_openssl_nor_asyncio_nor_what_only_workers_and_terminals_need() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=240)
    assert (done.stdout.split(), done.stderr) == ([], "")

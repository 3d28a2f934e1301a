"""The process that thin workers are forked from: it has imported what a worker of Ray imports, and has no threads.

    python fork_server.py SOCKET

Each connection brings one JSON line (arguments, environment, working directory, CPU seconds of who asks) and three file
descriptors. The file SOCKET.cpu has the sum of those seconds: what it took to come so far, which ends with who asks.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
from pathlib import Path

# What a worker has imported once it is idle. One that a later Ray has no longer costs memory only.
MODULES = (
    "argparse ray.actor ray._private.node ray._private.worker ray._private.async_compat ray._private.parameter "
    "ray._private.ray_logging ray._private.runtime_env.setup_hook cloudpickle numpy numpy.linalg pyarrow pyarrow.json "
    "pyarrow.ipc pydantic pydantic.json_schema pydantic.v1 starlette.datastructures starlette.concurrency "
    "anyio.to_thread"
)


def serve(address: str) -> None:
    for name in MODULES.split():
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"thin workers go without {name}: {error}", file=sys.stderr)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(1000)
    cpu_s = 0.0
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system takes them off, and nobody has to wait
    gc.collect()
    gc.freeze()
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        asked, files, _flags, _ = socket.recv_fds(connection, 1 << 20, 3)
        while not asked.endswith(b"\n"):
            asked += connection.recv(1 << 20)
        arguments, environment, folder, asker_cpu_s = json.loads(asked)
        cpu_s += asker_cpu_s
        Path(f"{address}.cpu").write_text(str(cpu_s))
        if not os.fork():
            listener.close()
            connection.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _become(arguments, environment, folder, files)
        connection.close()
        for file in files:
            os.close(file)


def _become(arguments: list[str], environment: dict[str, str], folder: str, files: list[int]) -> None:
    """The program of `arguments`, as if it had been started with them."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = arguments
    sys.path[0] = os.path.dirname(arguments[0])
    runpy.run_path(arguments[0], run_name="__main__")
    raise SystemExit


if __name__ == "__main__":
    serve(sys.argv[1])

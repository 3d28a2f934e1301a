"""What the Jupyter server extension costs, and how soon a change is in the browser.

    python -m benchmarks.extension [--tabs 100] [--seconds 20]

```
  server   CPU of the Jupyter server while a tab watches 8 devices and 20 tasks, and the sampler runs      goal 1 %
  change   from submitting a task until the tab's WebSocket has a snapshot with it                  goal 300 ms
  tabs     100 tabs that watch a changing head: its connections, the lag of the server's loop   goal 1, p99 20 ms
  lag      the lag of the server's loop with one tab                                             goal p99 10 ms
  task     CPU per task of the head and of the driver: without anybody, with a watcher as a notebook's cockpit is
           one, and with a tab, interleaved                                          goal: at most the watcher's
  change   the same for tasks that come one after the other: the head then sends a snapshot every quarter of a second
```
The server, the driver with its head, and the tabs are processes of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parent.parent
LAG_FILE = "NBACCEL_LAG_FILE"
LAG_EVERY_S = 0.005
LAG_TOLD_EVERY_S = 8.0
CHANGES = 30
ROUNDS = 7
TASKS = 10_000
FEW = 250
ROWS = 50  # that a tab, or a watcher, asks for
_DRIVER = """
import sys, threading, time, nbaccel
from nbaccel import engine
nbaccel.init(simulate="nvidia:8xH100", num_cpus=4)
@nbaccel.remote(num_gpus=1, num_cpus=0)
def hold(seconds): time.sleep(seconds)
@nbaccel.remote(num_cpus=1)
def quick(number): return number
held = [hold.remote(3600) for _ in range(20)]
nbaccel.get(quick.remote(0))
print("ready", flush=True)
for line in sys.stdin:
    what, number = line.split()
    if what == "one":
        submitted = time.time()
        ref = quick.options(name="marked-" + number).remote(0)
        nbaccel.get(ref)
        print(submitted, flush=True)
    elif what == "watch":
        rows, came = int(number), threading.Event()
        engine.current().watch((lambda snapshot: came.set()) if rows else None, rows=rows)
        rows and came.wait(60)
        print(0, flush=True)
    elif what == "few":
        began = time.process_time()
        for each in range(int(number)):
            assert nbaccel.get(quick.remote(each)) == each
            time.sleep(0.02)
        print(time.process_time() - began, flush=True)
    else:
        began = time.process_time()
        nbaccel.get([quick.remote(each) for each in range(int(number))])
        print(time.process_time() - began, flush=True)
"""


def _load_jupyter_server_extension(app: Any) -> None:
    """In the server: measures how late the loop calls back, and keeps the figures in a file."""
    lags: list[float] = []

    async def measure() -> None:
        loop = asyncio.get_running_loop()
        file = Path(os.environ[LAG_FILE])
        while not file.exists():
            await asyncio.sleep(0.5)  # the server's CPU is measured without it
        written = loop.time()
        while True:
            due = loop.time() + LAG_EVERY_S
            await asyncio.sleep(LAG_EVERY_S)
            lags.append(loop.time() - due)
            if loop.time() - written > LAG_TOLD_EVERY_S:
                file.write_text(json.dumps(lags))
                lags.clear()
                written = loop.time()

    app.io_loop.add_callback(measure)


class Place:
    """A server and a driver, in directories of their own."""

    def __init__(self, home: Path) -> None:
        self.home, self.token = home, secrets.token_hex(8)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        paths = f"{ROOT}:{ROOT / 'extension'}"
        own = {
            "HOME": home,
            "TMPDIR": home,
            "JUPYTER_RUNTIME_DIR": home / "runtime",
            "NBACCEL_LEASE_DIR": home / "leases",
        }
        self.environ = {**os.environ, **{name: str(path) for name, path in own.items()}, "PYTHONPATH": paths}
        self.lag_file = home / "lag.json"

    @contextlib.contextmanager
    def program(self, *command: str) -> Iterator[subprocess.Popen[str]]:
        environ = {**self.environ, LAG_FILE: str(self.lag_file)}
        process = subprocess.Popen(
            [sys.executable, *command], env=environ, cwd=self.home, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)

    def server(self) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
        extensions = "{'nbaccel_lab': True, 'benchmarks.extension': True}"
        return self.program(
            "-m", "jupyter_server", "--no-browser", "--allow-root", f"--port={self.port}", "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={self.token}", f"--ServerApp.jpserver_extensions={extensions}",
        )  # fmt: skip

    def lags_ms(self) -> tuple[float, float]:
        """(median, 99th percentile)"""
        lags = sorted(json.loads(self.lag_file.read_text() or "[0.0]"))
        return statistics.median(lags) * 1e3, lags[int(len(lags) * 0.99)] * 1e3

    async def open_tab(self) -> Any:
        from tornado.websocket import websocket_connect

        deadline = time.monotonic() + 60
        while True:
            try:
                tab = await websocket_connect(f"ws://127.0.0.1:{self.port}/nbaccel/api/v1/watch?token={self.token}")
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.2)  # the server starts
        await tab.write_message(json.dumps({"type": "watch", "runtimes": ["*"], "rows": ROWS}))
        return tab


class Driver:
    """The program with the tasks."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._line()
        self.head = next(each for each in psutil.Process(process.pid).children() if "head" in " ".join(each.cmdline()))

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise RuntimeError("The driver has ended.")
        return line

    async def send(self, what: str, number: int) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what} {number}\n")
        self.process.stdin.flush()
        return float(await asyncio.to_thread(self._line))

    async def cost_us(self, what: str = "many", tasks: int = TASKS) -> tuple[float, float]:
        """CPU per task in µs: of the head, of the driver."""
        before = _thread_s(self.head)
        driver_s = await self.send(what, tasks)
        return (_thread_s(self.head) - before) / tasks * 1e6, driver_s / tasks * 1e6


def _thread_s(process: psutil.Process) -> float:
    """CPU of a process with one thread, more exactly than in hundredths of a second."""
    return int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e9


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _connections(head: psutil.Process) -> int:
    """Unix sockets of the head: its door, and what is connected there."""
    return sum(bool(each.laddr) for each in head.net_connections("unix"))


async def _drain(tab: Any) -> None:
    while await tab.read_message() is not None:
        pass


async def _changes_ms(tab: Any, driver: Driver) -> list[float]:
    """For each of some tasks, the time from its submission to the snapshot that has it."""
    found = []
    for number in range(CHANGES):
        name = f"marked-{number}"
        saying = asyncio.create_task(driver.send("one", number))
        while True:
            text = await tab.read_message()
            if f'"{name}"' in text:
                arrived = time.time()
                break
        found.append((arrived - await saying) * 1e3)
        await asyncio.sleep(random.uniform(0.2, 0.6))  # changes come at any moment of the head's quarter of a second
    return found


async def measure(place: Place, server: subprocess.Popen[str], driver: Driver, tabs: int, seconds: float) -> None:
    alone = _connections(driver.head)
    tab = await place.open_tab()
    changes = await _changes_ms(tab, driver)
    print(f"change   median {statistics.median(changes):.0f} ms, longest {max(changes):.0f} ms")
    draining = asyncio.create_task(_drain(tab))
    process = psutil.Process(server.pid)
    before, began = _cpu_s(process), time.monotonic()
    await asyncio.sleep(seconds)
    print(f"server   {(_cpu_s(process) - before) / (time.monotonic() - began):.2%} of a core")
    place.lag_file.touch()
    await asyncio.sleep(2.5 * LAG_TOLD_EVERY_S)
    print("lag      median {:.1f} ms, p99 {:.1f} ms with one tab".format(*place.lags_ms()))
    others = [await place.open_tab() for _ in range(tabs - 1)]
    drains = [asyncio.create_task(_drain(each)) for each in others]
    end = time.monotonic() + max(seconds, 2.5 * LAG_TOLD_EVERY_S)
    number = CHANGES
    while time.monotonic() < end:
        await driver.send("one", number)
        number += 1
        await asyncio.sleep(0.2)
    figures = "lag median {:.1f} ms, p99 {:.1f} ms".format(*place.lags_ms())
    print(f"tabs     {tabs} tabs: {_connections(driver.head) - alone} connection to the head, {figures}")
    for each in others:
        each.close()
    await asyncio.gather(*drains)
    tab.close()
    await draining
    await compare(place, driver)


async def compare(place: Place, driver: Driver) -> None:
    """What a task costs while nobody watches, while a cockpit of a notebook does, and while a tab does."""
    for label, what, tasks in (("task", "many", TASKS), ("change", "few", FEW)):
        rounds: list[dict[str, tuple[float, float]]] = []
        for number in range(ROUNDS):
            costs: dict[str, tuple[float, float]] = {}
            for who in ("nobody", "watcher", "tab")[:: 1 if number % 2 else -1]:
                async with watched_by(who, place, driver):
                    await asyncio.sleep(1.0)  # the opening of a tab costs once, and not with every task
                    costs[who] = await driver.cost_us(what, tasks)
            rounds.append(costs)
        for whose, at in (("head", 0), ("driver", 1)):
            print(
                f"{label:<8} {whose}: {_compared([{who: both[at] for who, both in each.items()} for each in rounds])}"
            )


def _compared(rounds: list[dict[str, float]]) -> str:
    alone = statistics.median(costs["nobody"] for costs in rounds)
    watcher, tab = (
        statistics.median(costs[who] / costs["nobody"] for costs in rounds) - 1 for who in ("watcher", "tab")
    )
    against = statistics.median(costs["tab"] / costs["watcher"] for costs in rounds) - 1
    return f"{alone:.1f} µs; {watcher:+.1%} with a watcher, {tab:+.1%} with a tab ({against:+.1%} against the watcher)"


@contextlib.asynccontextmanager
async def watched_by(who: str, place: Place, driver: Driver) -> AsyncIterator[None]:
    """While "nobody" watches, or a "watcher", or a "tab"."""
    if who == "watcher":
        await driver.send("watch", ROWS)
    tab = await place.open_tab() if who == "tab" else None
    draining = None if tab is None else asyncio.create_task(_drain(tab))
    yield
    if tab is not None and draining is not None:
        tab.close()
        await draining
    if who == "watcher":
        await driver.send("watch", 0)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--tabs", type=int, default=100)
    options.add_argument("--seconds", type=float, default=20.0)
    options.add_argument("--only-task", action="store_true", help="only the CPU per task")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="nb-", dir="/tmp") as home:
        place = Place(Path(home))
        (place.home / "runtime").mkdir(mode=0o700)
        (place.home / "driver.py").write_text(_DRIVER)
        with place.server() as server, place.program("driver.py") as driving:
            began = Driver(driving)
            asyncio.run(
                compare(place, began) if given.only_task else measure(place, server, began, given.tabs, given.seconds)
            )


if __name__ == "__main__":
    main()

"""What the live cockpit costs: a push in the kernel, a frame in the browser, and a watcher's share of every task.

    python benchmarks/cockpit.py [push] [size] [history] [frame] [watch]

```
  push    8 devices and 20 tasks, from the head's bytes to the page's message: CPU of the kernel's thread    goal 0.3 ms
  size    bytes of a snapshot: 8 devices and 20 tasks, and 64 devices with the rows of 10,000 tasks     goal 16 KB, none
  history 10,000 runs on 64 devices: a run written down, the first answers, the next          goal 32 KB, 2 KB a second
  frame   64 devices and 500 tasks, 1,000 devices: 200 changed snapshots drawn and laid out       goal 8 ms, 95 % 16 ms
          in Chromium; the first draw of each view is said apart
  watch   CPU per task of driver, head and workers, with a watcher and without, seven interleaved pairs      goal +2 %
```
The kernel is a real one, so that a push includes what Jupyter does with a message.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
PUSHES = 400
FRAMES = 200
DEVICES_WITH_LINES = 128  # of more devices the page asks for no sparklines (MOST_DEVICES of model/history.ts)
PAIRS = 7
TASKS = 5_000
NAMES = ("train_one_epoch", "evaluate_checkpoint", "tokenize_shard", "download", "Keeper.step", "write_embeddings")
CELLS = ("[12] line 14", "[13] line 2", "[14]", "[9] line 31")

_IN_KERNEL = """
import statistics, time
import msgspec
from nbaccel.notebook.widget import Cockpit
from nbaccel.views.snapshot import Snapshot
snapshot = Snapshot.from_json(open({path!r}).read())
cockpit = Cockpit()
bodies = []
for number in range({pushes}):
    snapshot.seq, snapshot.counts["FINISHED"] = number, number
    task, device = snapshot.tasks[number % 20], snapshot.devices[number % 8]
    task.progress, device.metrics.utilisation_percent = (number, 400), number % 100
    bodies.append(msgspec.msgpack.encode(snapshot))
costs = []
for body in bodies:
    began = time.thread_time()
    cockpit._publisher._came(None, msgspec.msgpack.decode(body, type=Snapshot))
    costs.append(time.thread_time() - began)
print(statistics.median(costs) * 1e3, len(cockpit.snapshot))
"""


def example(devices: int, tasks: int) -> Any:
    """A snapshot as the local engine draws it: every device measured and held, every task from a cell."""
    from nbaccel.views.snapshot import (
        DeviceMetrics,
        DeviceRow,
        FunctionRow,
        Holder,
        NodeRow,
        Runtime,
        Snapshot,
        TaskRow,
    )

    now = time.time()
    node = "5180ff6a4af162560e00b10be17dded949af4736cb6fddc56df75c76"
    snapshot = Snapshot(Runtime("local", "0.1.0", "3.11.7", pid=28217), 1, now)
    snapshot.nodes = [NodeRow(node, "box", True, True, {"CPU": 64.0, "GPU": devices}, {"CPU": 60.0, "GPU": 0.0})]
    for index in range(devices):
        row = DeviceRow(node, "GPU", index, str(index), "nvidia", "NVIDIA GPU", "real", "H100", "NVIDIA H100 80GB HBM3")
        row.memory_bytes = 80 << 30
        row.metrics = DeviceMetrics(80.0 + index % 20, 40 << 30, 80 << 30, 61.0, 512.0, sampled_at=now)
        row.holders = [Holder("train", 1.0, f"{index:048x}", pid=28000 + index, cell="[12] line 14", since=now - 60)]
        snapshot.devices.append(row)
    for number in range(tasks):
        task = TaskRow(f"{number:048x}", "train", "task", "RUNNING", 1, {"GPU": 1.0}, {"GPU": [str(number % devices)]})
        task.cell, task.pid, task.submitted_at, task.started_at = "[12] line 14", 28000, now - 61, now - 60
        snapshot.tasks.append(task)
    snapshot.counts = {"RUNNING": tasks}
    snapshot.functions = [FunctionRow("train", running=tasks)]
    return snapshot


def push() -> None:
    """A push's cost in a real kernel: each time a task has gone on and a device's load is another one."""
    _push(example(8, 20), "tasks of one function")
    _push(_varied(example(8, 20)), "tasks of six functions")


def _push(snapshot: Any, what: str) -> None:
    from jupyter_client.manager import KernelManager

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "snapshot.json")
        path.write_bytes(snapshot.to_json())
        kernels = KernelManager(kernel_name="python3", transport="ipc", ip=f"{folder}/kernel")
        kernels.start_kernel(env={**os.environ, "PYTHONPATH": str(ROOT)})
        client = kernels.client()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        said: list[str] = []

        def show(message: dict[str, Any]) -> None:
            said.append(message["content"].get("text", "") or "\n".join(message["content"].get("traceback", [])))

        code = _IN_KERNEL.format(path=str(path), pushes=PUSHES)
        client.execute_interactive(code, output_hook=show, timeout=120)
        client.stop_channels()
        kernels.shutdown_kernel(now=True)
    cost_ms, size_bytes = "".join(said).split()[-2:]
    print(f"push    {float(cost_ms):6.3f} ms of CPU (goal 0.3)   {size_bytes} bytes (goal 16384)   {what}")


def size() -> None:
    """What a snapshot has in bytes: of one function, of six with long names and peaks, and of what tests look at."""
    from nbaccel.notebook import publishing
    from tests.browser import sights

    made = {}
    for devices, tasks in ((8, 20), (64, 140)):
        made[f"{devices} devices, {tasks} rows of tasks of one function"] = example(devices, tasks)
        made[f"{devices} devices, {tasks} rows of tasks of six functions"] = _varied(example(devices, tasks))
        for condition in ("busy", "failing"):
            made[f"{devices} devices, {condition}, as the tests look at them"] = sights.snapshot(devices, condition)
    for what, snapshot in made.items():
        body = publishing.to_json(publishing.of_snapshot(snapshot)).encode()
        goal = " (goal 16384)" if len(snapshot.devices) == 8 else ""
        print(f"size    {len(body):6} bytes{goal}   {what}")


def _varied(snapshot: Any) -> Any:
    """The same with names, cells, times and peaks as they are in a day's work."""
    from nbaccel.views.snapshot import FunctionRow

    for number, task in enumerate(snapshot.tasks):
        task.name, task.cell = NAMES[number % len(NAMES)], CELLS[number % len(CELLS)]
        task.started_at += number * 0.618
        task.pid, task.peak_memory_bytes = 28000 + number, (number + 1) * 1_234_567_891
    snapshot.functions = [FunctionRow(name, running=12, waiting=1400, failed=2, finished=346) for name in NAMES]
    for number, device in enumerate(snapshot.devices):
        device.holders[0].name, device.holders[0].cell = NAMES[number % len(NAMES)], CELLS[number % len(CELLS)]
    return snapshot


def history() -> None:
    """What the history of ten thousand runs costs, and how large its answers are."""
    import msgspec

    from nbaccel.views.history.book import HistoryBook, PastRun

    book = HistoryBook(0.0)
    runs = [
        PastRun(f"f{n % 3}", f"[{n % 7}]", 1, "FINISHED", ((f"5180ff6a4af1/GPU/{n % 64}", 1.0),), f"{n:048x}", n / 100,
                n / 100, n / 100 + 0.4)
        for n in range(10_000)
    ]  # fmt: skip
    began = time.process_time()
    for run in runs:
        book.ended(run)
    each_us = (time.process_time() - began) / len(runs) * 1e6
    print(f"history {each_us:6.1f} µs for each run on a device")
    seq = 0
    for what, ask in (
        ("all runs", lambda: book.runs(101.0, (0.0, 101.0))),
        ("a minute", lambda: book.runs(101.0, (41.0, 101.0))),
        ("accounting", lambda: book.accounting(101.0)),
    ):
        began = time.process_time()
        answer = ask()
        took_ms = (time.process_time() - began) * 1e3
        seq = max(seq, answer.seq)
        print(f"history {took_ms:6.1f} ms, {len(msgspec.json.encode(answer)):6} bytes (goal 32768)   {what}")
    for run in runs[-100:]:
        book.ended(run)
    later = book.runs(102.0, (0.0, 102.0), seq)
    size_bytes = len(msgspec.json.encode(later))
    print(f"history {size_bytes / later.pause_s:6.0f} bytes a second (goal 2048)   after 100 more runs")


_TIME_FRAMES = """
() => {
  window.costs = [];
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = draw => ask(at => {
    const began = performance.now();
    draw(at);
    document.body.getBoundingClientRect();
    window.costs.push(performance.now() - began);
  });
}
"""


_MOUNT_AGAIN = """
() => {
  window.end();
  asked.length = 0;
  const began = performance.now();
  window.end = widget.render({ model, el: document.body });
  document.body.getBoundingClientRect();
  window.costs.push(performance.now() - began);
}
"""


def frame() -> None:
    """What a view's first draw costs the page, and then a new snapshot in which every number has changed."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import ARGUMENTS, CHROMIUM

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        _frames(browser, 64, 500, ("Devices", "Tasks", "Timeline"))
        _frames(browser, 1000, 500, ("Devices",))
        browser.close()


def _snapshots(devices: int, tasks: int) -> list[dict[str, Any]]:
    from nbaccel.notebook import publishing

    snapshot = example(devices, tasks)
    snapshots = []
    for number in range(FRAMES):
        for index, device in enumerate(snapshot.devices):
            device.metrics.utilisation_percent = (number * 7 + index) % 100
        snapshot.time += 1.0  # every row's age changes
        snapshots.append(json.loads(publishing.to_json(publishing.of_snapshot(snapshot))))
    return snapshots


def _frames(browser: Any, devices: int, tasks: int, views: tuple[str, ...]) -> None:
    from tests.browser.loose import LoosePage

    snapshots = _snapshots(devices, tasks)
    page = LoosePage(browser, snapshots[0])
    page.page.evaluate(_TIME_FRAMES)
    for view in views:
        page.page.evaluate("costs.length = 0")
        page.page.evaluate(_MOUNT_AGAIN)
        page.root.get_by_role("tab", name=view).click()
        if view == "Devices" and devices <= DEVICES_WITH_LINES:
            page.recall("readings", _readings(devices))
        if view == "Timeline":
            page.recall("runs", _runs(page.page.evaluate("Date.now() / 1000")))
        page.page.evaluate("frame()")
        first = max(page.page.evaluate("costs"))
        if view == "Tasks":
            page.root.get_by_role("button", name="train", exact=True).click()  # the row of the function opens
        costs = []
        for snapshot in snapshots:
            page.page.evaluate("costs.length = 0")
            page.push(snapshot)
            costs.append(max(page.page.evaluate("costs")))
        worst = sorted(costs)[int(len(costs) * 0.95)]
        print(
            f"frame   {statistics.median(costs):6.1f} ms (goal 8), 95 % under {worst:.1f} (goal 16), "
            f"first draw {first:.1f}   {view}, {devices} devices, {tasks} tasks"
        )
    page.close()


def _readings(devices: int) -> dict[str, Any]:
    """What the history answers of so many devices after two minutes."""
    import msgspec

    from nbaccel.views.history.book import HistoryBook
    from nbaccel.views.history.readings import DeviceLoad

    book = HistoryBook(0.0)
    for step in range(60):
        loads = [
            DeviceLoad(f"5180ff6a4af1/GPU/{n}", float((step * 7 + n) % 100), 0.5, 300.0 + n % 50)
            for n in range(devices)
        ]
        book.measured(2.0 * step, loads)
    return {**msgspec.to_builtins(book.readings(120.0)), "hues": {}}


def _runs(now: float) -> dict[str, Any]:
    """What the history answers of ten thousand runs in the last minute."""
    import msgspec

    from nbaccel.views.history.book import HistoryBook, PastRun

    book = HistoryBook(now - 60)
    for n in range(10_000):
        began = now - 60 + n * 0.0059
        lane = ((f"5180ff6a4af1/GPU/{n % 64}", 1.0),)
        book.ended(PastRun(f"f{n % 3}", f"[{n % 7}]", 1, "FINISHED", lane, f"{n:048x}", began, began, began + 0.3))
    return {**msgspec.to_builtins(book.runs(now, (now - 60, now))), "hues": {}}


def watch() -> None:
    """CPU per task, with a watcher and without."""
    import nbaccel as ray
    from nbaccel import engine

    ray.init(num_cpus=2, log_to_driver=False)

    @ray.remote
    def nothing(number: int) -> int:
        return number

    ray.get([nothing.remote(number) for number in range(1000)])
    ratios, seen = [], 0

    def came(snapshot: Any) -> None:
        nonlocal seen
        seen += 1

    for _ in range(PAIRS):
        without = _cpu_of(lambda: _checked(ray, nothing))
        engine.current().watch(came)
        watched = _cpu_of(lambda: _checked(ray, nothing))
        engine.current().watch(None)
        ratios.append(watched / without)
    ray.shutdown()
    more = (statistics.median(ratios) - 1) * 100
    print(f"watch   {more:+6.1f} % CPU per task (goal +2)   {seen} snapshots while {PAIRS * TASKS} tasks ran")


def _checked(ray: Any, nothing: Any) -> None:
    assert ray.get([nothing.remote(number) for number in range(TASKS)]) == list(range(TASKS))


def _cpu_of(work: Any) -> float:
    """Seconds of CPU of this process and all that it started."""
    before = _cpu()
    work()
    return _cpu() - before


def _cpu() -> float:
    ours = psutil.Process()
    total = 0.0
    for process in [ours, *ours.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def main(chosen: list[str]) -> None:
    for part in (push, size, history, frame, watch):
        if not chosen or part.__name__ in chosen:
            part()


if __name__ == "__main__":
    main(sys.argv[1:])

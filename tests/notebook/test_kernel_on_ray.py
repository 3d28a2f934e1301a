"""A real kernel on the Ray engine: lines and notices under their cells, Stop, cells as tasks, magics."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.notebook.kernels import HURRY_AGAIN, NO_HURRY, Cell, Kernel
from tests.rig import is_alive

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]
pytest.importorskip("ray")

SETUP = """
import asyncio, os, tempfile, threading, time
import nbaccel

folder = tempfile.mkdtemp()

def pass_gate(name):
    while not os.path.exists(os.path.join(folder, name)):
        time.sleep(0.01)

def open_gate(name):
    open(os.path.join(folder, name), "w").close()

@nbaccel.remote
def says(text, gate=None):
    if gate:
        pass_gate(gate)
    for number in range(3):
        print(text, number)
    os.system(f"echo {text} past Python")

@nbaccel.remote(max_concurrency=2)
class InThreads:
    def say(self, text, mine, other):
        print(text, "begins", end="")
        open_gate(mine)
        pass_gate(other)
        print(" and ends")

@nbaccel.remote
class InLoop:
    def __init__(self):
        self.met = asyncio.Event()
        self.here = 0

    async def say(self, text):
        print(text, "begins", end="")
        self.here += 1
        if self.here == 2:
            self.met.set()
        await self.met.wait()
        print(" and ends")

@nbaccel.remote(num_gpus=1, num_cpus=0)
def holds(gate):
    pass_gate(gate)

@nbaccel.remote(num_cpus=0.1)
def sleeps():
    print("begun", flush=True)
    time.sleep(600)

@nbaccel.remote(num_cpus=0.1)
def waits_for_a_lock():
    print("begun", flush=True)
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

@nbaccel.remote(num_gpus=1, num_cpus=0)
def stubborn():
    print("begun", flush=True)
    while True:
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            print("ignored", flush=True)

def outcome(ref):
    try:
        return nbaccel.get(ref, timeout=60)
    except Exception as error:
        return type(error).__name__
"""


# The card of %accel_init is live: it watches from the start.
NOBODY_WATCHES = """
import ray
from nbaccel import engine
from ray.experimental.internal_kv import _internal_kv_del

engine.current().watch(None)
actors = engine.current().service_actors
if actors._collector is not None:
    ray.kill(actors._collector)
engine.current()._reports._lose_collector()
_internal_kv_del(actors._watched_key(), namespace=actors._session.namespace_of_reports)
"""


def _kernels() -> Iterator[Kernel]:
    kernel = Kernel(patience_s=180, RAY_USAGE_STATS_ENABLED="0")
    started = kernel.run("%load_ext nbaccel\n%accel_init engine=ray num_gpus=2 num_cpus=2")
    assert "GPU 1" in started.text and started.stderr == "", "no line of Ray's log"
    assert kernel.run(SETUP).error is None
    yield kernel
    try:
        kernel.run("%accel_shutdown")
    finally:
        kernel.close()


# Its collector is killed: what processes report to it before they look for the next one is lost.
unwatched = pytest.fixture(_kernels)
kernel = pytest.fixture(scope="module")(_kernels)


def _lines(cell: Cell) -> list[str]:
    """What tasks printed, without the prefix."""
    return re.findall(r"^\(\w+ pid=\d+\) (.*)$", cell.stdout, re.M)


def _until_lines(kernel: Kernel, *cells: Cell, number: int) -> None:
    kernel.until(lambda: all(len(_lines(cell)) >= number for cell in cells))


def test_a_nested_task_prints_under_the_cell_of_its_parent_though_nobody_watched(unwatched: Kernel) -> None:
    assert unwatched.run(NOBODY_WATCHES).error is None
    unwatched.run(
        "@nbaccel.remote(num_cpus=0)\ndef outer(gate):\n    pass_gate(gate)\n    nbaccel.get(says.remote('nested'))"
    )
    first = unwatched.run("outer.remote('nested')")
    second = unwatched.run("open_gate('nested')")
    _until_lines(unwatched, first, number=4)
    assert _lines(first) == ["nested 0", "nested 1", "nested 2", "nested past Python"]
    assert _lines(second) == []


def test_a_line_of_the_first_cell_appears_under_it_while_the_second_runs(kernel: Kernel) -> None:
    first = kernel.run("late = says.remote('first', gate='second runs')")
    second = kernel.run("open_gate('second runs')\nnbaccel.get(late)")
    _until_lines(kernel, first, number=4)
    assert re.search(r"^\(says pid=\d+\) first 0$", first.stdout, re.M)
    assert "first" not in second.stdout


def test_a_tqdm_bar_of_a_task_moves_while_it_runs(kernel: Kernel) -> None:
    kernel.run(
        "@nbaccel.remote\ndef bar():\n    from tqdm import tqdm\n    shown = tqdm(total=4, mininterval=0)\n"
        "    shown.update(1)\n    pass_gate('bar')\n    shown.update(3)\n    shown.close()"
    )
    cell = kernel.run("drawn = bar.remote()")
    kernel.until(lambda: "25%" in cell.text)
    kernel.run("open_gate('bar')\nnbaccel.get(drawn)")
    kernel.until(lambda: "100%" in cell.text)
    assert "%" not in cell.stdout + cell.stderr
    assert [kind for kind, _ in cell.outputs].count("display_data") == 1


def test_the_lines_of_tasks_of_two_cells_are_never_mixed(kernel: Kernel) -> None:
    red = kernel.run("red = [says.remote('red') for _ in range(4)]")
    blue = kernel.run("blue = [says.remote('blue') for _ in range(4)]\nnbaccel.get(red + blue)")
    _until_lines(kernel, red, blue, number=16)
    for cell, text in ((red, "red"), (blue, "blue")):
        assert sorted(_lines(cell)) == sorted([f"{text} {n}" for n in range(3)] * 4 + [f"{text} past Python"] * 4)


@pytest.mark.parametrize("actor", ["InThreads", "InLoop"])
def test_a_line_of_an_actor_goes_to_the_call_that_printed_it(kernel: Kernel, actor: str) -> None:
    more = {"one": ", 'one', 'two'", "two": ", 'two', 'one'"} if actor == "InThreads" else {"one": "", "two": ""}
    first = kernel.run(f"actor = {actor}.remote()\none = actor.say.remote('one'{more['one']})")
    second = kernel.run(f"nbaccel.get([one, actor.say.remote('two'{more['two']})])\nnbaccel.kill(actor)")
    _until_lines(kernel, first, second, number=1)
    assert (_lines(first), _lines(second)) == (["one begins and ends"], ["two begins and ends"])


def test_the_marks_of_tasks_are_not_seen_in_the_logs(kernel: Kernel) -> None:
    logs = kernel.run("%accel_logs").stdout
    assert "red 0" in logs.splitlines()
    assert "task_name" not in logs and "task=" not in logs


def test_the_lines_of_rays_start_are_in_the_logs(kernel: Kernel) -> None:
    first = kernel.run("%accel_logs").stdout.splitlines()[0]
    assert first.startswith("(Ray, at its start) "), first


def test_what_can_never_be_met_is_told_at_once_under_its_cell(kernel: Kernel) -> None:
    cell = kernel.run("never = [holds.options(num_gpus=7).remote('') for _ in range(2)]")
    kernel.until(lambda: "but this cluster has 2 GPUs, not 7" in cell.text)
    kernel.run("for ref in never: nbaccel.cancel(ref)")
    kernel.until(lambda: cell.shown[-1]["text/plain"] == "")
    assert len(cell.shown) == 2


def test_a_task_that_waits_has_a_line_that_changes_in_place_and_goes(kernel: Kernel) -> None:
    kernel.run("held = [holds.remote(gate) for gate in ('free one', 'free both')]")
    cell = kernel.run("waiting = holds.options(num_gpus=2).remote('free one')")
    kernel.until(lambda: "waits for 2 GPUs. Both GPUs are busy: holds" in cell.text)
    kernel.run("open_gate('free one')")
    kernel.until(lambda: "waits for 2 GPUs. 1 of 2 GPUs is free" in cell.text)
    kernel.run("open_gate('free both')\nnbaccel.get(waiting)")
    kernel.until(lambda: cell.shown[-1]["text/plain"] == "")
    ids = {body["transient"]["display_id"] for kind, body in cell.outputs if kind.endswith("display_data")}
    assert len(ids) == 1


@pytest.mark.parametrize("task", ["sleeps", "waits_for_a_lock"])
def test_stop_ends_the_cell_and_cancels_what_it_waits_for(kernel: Kernel, task: str) -> None:
    cell = kernel.submit(f"ref = {task}.remote()\nnbaccel.get(ref)")
    kernel.until(lambda: "begun" in cell.stdout)
    kernel.interrupt()
    kernel.finish(cell)
    assert cell.error is not None and cell.error["ename"] == "KeyboardInterrupt"
    assert "nbaccel.get(ref)" in (shown := "\n".join(cell.error["traceback"])) and "api.py" not in shown
    assert kernel.run("print(outcome(ref))").stdout == "RayTaskError(TaskCancelledError)\n"


def test_stop_during_an_await_cancels_the_awaited_task(kernel: Kernel) -> None:
    cell = kernel.submit("ref = sleeps.remote()\nawait ref")
    kernel.until(lambda: "begun" in cell.stdout)
    kernel.interrupt()
    kernel.finish(cell)
    assert kernel.run("print(outcome(ref))").stdout == "RayTaskError(TaskCancelledError)\n"


def test_stop_reaches_what_a_pool_of_threads_waits_for(kernel: Kernel) -> None:
    cell = kernel.submit(
        "from concurrent.futures import ThreadPoolExecutor\nref = sleeps.remote()\n"
        "with ThreadPoolExecutor(1) as pool: list(pool.map(nbaccel.get, [ref]))"
    )
    kernel.until(lambda: "begun" in cell.stdout)
    kernel.interrupt()
    kernel.finish(cell)
    assert "1 task cancelled" in cell.text
    assert kernel.run("print(outcome(ref))").stdout == "RayTaskError(TaskCancelledError)\n"


def test_stop_leaves_the_task_of_another_cell_alone(kernel: Kernel) -> None:
    first = kernel.run("other = sleeps.remote()")
    kernel.until(lambda: "begun" in first.stdout)
    cell = kernel.submit("print('waiting', flush=True)\nnbaccel.wait([other])")
    kernel.until(lambda: "waiting" in cell.stdout)
    kernel.interrupt()
    kernel.finish(cell)
    still = kernel.run("print(nbaccel.wait([other], timeout=0)[1] == [other])\nnbaccel.cancel(other)\noutcome(other)")
    assert still.stdout == "True\n"


def test_stopped_twice_a_task_that_ignores_it_is_killed_and_its_device_is_free(kernel: Kernel) -> None:
    kernel.run(NO_HURRY)
    cell = kernel.submit("stuck = stubborn.remote()\nnbaccel.get(stuck)")
    kernel.until(lambda: "begun" in cell.stdout)
    kernel.interrupt()
    kernel.finish(cell)
    worker = int(re.findall(r"pid=(\d+)", cell.stdout)[0])
    # A press that comes before the idle kernel listens does nothing, as does one more after the second.
    kernel.until(lambda: not is_alive(worker) or bool(kernel.interrupt()))  # type: ignore[func-returns-value]
    kernel.run(f"{HURRY_AGAIN}\nopen_gate('now')")
    freed = kernel.run("print(outcome(stuck), outcome(holds.options(num_gpus=2).remote('now')))")
    said, after = freed.stdout.split()
    assert after == "None"
    assert said in ("TaskCancelledError", "RayTaskError(TaskCancelledError)", "WorkerCrashedError")


def test_a_cell_runs_as_a_task_and_its_result_comes_back(kernel: Kernel) -> None:
    kernel.run("factor = 3")
    ran = kernel.run(
        "%%accel num_gpus=1 -o out\nimport os, sys\nfrom IPython.display import HTML, display\n"
        "imported = 'nbaccel.notebook.cell_run' in sys.modules\n"
        "display(HTML('<b>rich</b>'))\nprint('said')\nproduct = factor * 2\nos.environ['CUDA_VISIBLE_DEVICES']"
    )
    assert [data.get("text/html") for data in ran.shown] == ["<b>rich</b>", None]
    assert ran.shown[1]["text/plain"] in ("'0'", "'1'")
    # What runs the body has travelled along: a node needs no nbaccel for it.
    assert kernel.run("out.product, out.imported").shown[0]["text/plain"] == "(6, False)"
    _until_lines(kernel, ran, number=1)
    assert _lines(ran) == ["said"]


def test_an_error_shows_the_users_line_and_where_it_ran(kernel: Kernel) -> None:
    error = kernel.run("%%accel num_gpus=1\nraise ValueError('bad batch')").error
    assert error is not None
    text = "\n".join(error["traceback"])
    assert "raise ValueError('bad batch')" in text
    assert re.search(r"on GPU \d, pid \d+, from cell \[\d+\] line 1", text)
    assert "cell_run.py" not in text and "nbaccel_in_ray" not in text


def test_an_error_of_a_nested_task_shows_the_lines_of_both_and_the_cell(kernel: Kernel) -> None:
    kernel.run("@nbaccel.remote\ndef inner():\n    return 1 / 0")
    kernel.run("@nbaccel.remote\ndef outer():\n    return nbaccel.get(inner.remote())")
    error = kernel.run("nbaccel.get(outer.remote())").error
    assert error is not None
    text = "\n".join(error["traceback"])
    assert text.index("return nbaccel.get(inner.remote())") < text.index("return 1 / 0")
    assert re.search(r"^in outer, pid \d+, from cell \[\d+\] line 1$", text, re.MULTILINE)
    assert not re.search(r"^(?! {4}).*\n\s*[\^~]+$", text, re.MULTILINE), "a mark stands below a line of source"


def test_an_actor_that_could_not_be_made_shows_the_line_of_its_constructor(kernel: Kernel) -> None:
    constructor = "    def __init__(self):\n        raise ValueError('no weights')"
    kernel.run(f"@nbaccel.remote\nclass Empty:\n{constructor}\n    def work(self):\n        pass")
    error = kernel.run("nbaccel.get(Empty.remote().work.remote())").error
    assert error is not None
    text = "\n".join(error["traceback"])
    assert re.search(r"Cell In\[\d+\], line 4, in __init__\n    raise ValueError\('no weights'\)", text)
    assert "nbaccel_in_ray" not in text


def test_one_task_for_each_item(kernel: Kernel) -> None:
    kernel.run("items = [1, 2, 3]")
    kernel.run("%%accel --each=items -o out\nsquare = item * item")
    assert kernel.run("[each.square for each in out]").shown[0]["text/plain"] == "[1, 4, 9]"


def test_magics_answer_about_a_task_that_runs_and_one_that_waits(kernel: Kernel) -> None:
    kernel.run("busy = [holds.remote('end') for _ in range(2)]\nlater = holds.remote('end')")
    kernel.until(lambda: kernel.run("%accel_devices").text.count("holds (pid") == 2)
    assert "2 of 2 GPUs busy" in kernel.run("%accel_status").text
    # A row of its own, or beside more than eight tasks of the function one row with its counts.
    assert re.search(r"holds .*waiting", kernel.run("%accel_tasks").text)
    assert "Both GPUs are busy: holds" in kernel.run("%accel_why later").text
    assert kernel.run("%accel_probe num_gpus=1").text.strip().startswith("Busy")
    kernel.run("open_gate('end')\nnbaccel.get([*busy, later])")
    assert "No task waits." in kernel.run("%accel_why").text

"""Real kernels through jupyter_client: what a person at a notebook sees, and that nothing is left behind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.notebook.kernels import Kernel, gone
from tests.notebook.levels import Reading

START = "%load_ext nbaccel\n%accel_init num_gpus=2 num_cpus=2"


@pytest.fixture
def own_kernel() -> Iterator[Kernel]:
    """For a test that ends it or starts it again."""
    kernel = Kernel()
    yield kernel
    kernel.close()
    assert gone(kernel.token) == {}


@pytest.fixture(scope="module")
def reused() -> Iterator[Kernel]:
    kernel = Kernel()
    yield kernel
    kernel.close()
    assert gone(kernel.token) == {}


@pytest.fixture
def kernel(reused: Kernel) -> Iterator[Kernel]:
    """A kernel without a cluster and without variables, whose next cell is the first."""
    yield reused
    reused.begin_again()


def test_init_shows_the_card_and_the_same_again_starts_nothing(kernel: Kernel) -> None:
    first = kernel.run(START)
    (card,) = first.shown
    assert "GPU 0" in card["text/plain"]
    assert "GPU 1" in card["text/html"]
    (again,) = kernel.run("%accel_init num_gpus=2 num_cpus=2").shown
    head = re.compile(r"head pid (\d+)")
    assert head.findall(again["text/html"]) == head.findall(card["text/html"]) != []


def test_other_options_are_one_line_with_the_difference(kernel: Kernel) -> None:
    kernel.run(START)
    refused = kernel.run("%accel_init num_gpus=4 num_cpus=2")
    assert "num_gpus was 2 and is now 4" in refused.stderr
    assert "--restart" in refused.stderr
    assert "Traceback" not in refused.text
    restarted = kernel.run("%accel_init num_gpus=4 num_cpus=2 --restart")
    assert "GPU 3" in restarted.text


def test_a_typing_error_is_one_line_with_a_suggestion(kernel: Kernel) -> None:
    kernel.run("%load_ext nbaccel")
    refused = kernel.run("%accel_init num_gpu=2")
    assert refused.stderr.strip() == "UsageError: There is no option 'num_gpu'. Did you mean 'num_gpus'?"
    assert refused.reply is not None
    assert refused.reply["status"] == "error"


def test_variables_fill_in_and_help_lists_the_options(kernel: Kernel) -> None:
    kernel.run("%load_ext nbaccel\nn = 3")
    assert "GPU 2" in kernel.run("%accel_init num_gpus={n} num_cpus=1").text
    pages = kernel.run("%accel_init?").reply
    assert pages is not None
    assert "num_gpus=2" in pages["payload"][0]["data"]["text/plain"]


def test_status_as_json_is_the_snapshot(kernel: Kernel) -> None:
    kernel.run(START)
    snapshot = json.loads(kernel.run("%accel_status --json").stdout)
    assert [device["id"] for device in snapshot["devices"]] == ["0", "1"]


def test_the_card_names_who_holds_a_device_and_for_which_cell(kernel: Kernel) -> None:
    kernel.run(START)
    kernel.run(
        "import nbaccel as ray\n\n@ray.remote(num_gpus=1)\nclass Holder:\n    def pid(self):\n"
        "        import os\n        return os.getpid()\n\nholder = Holder.remote()\npid = ray.get(holder.pid.remote())"
    )
    pid = kernel.run("pid").shown[0]["text/plain"]
    card = kernel.run("%accel_devices").text
    assert re.search(rf"GPU 0 .*Holder \(pid {pid}, cell \[2\] line 9", card)


def test_a_line_of_the_first_cell_appears_under_it_while_the_second_runs(kernel: Kernel) -> None:
    kernel.run(START)
    kernel.run("import nbaccel as ray, os, tempfile, time\nflag = tempfile.mktemp()")
    first = kernel.run(
        "@ray.remote\ndef late(flag):\n    while not os.path.exists(flag):\n        time.sleep(0.01)\n"
        "    print('from the first cell')\n    return 1\n\nref = late.remote(flag)"
    )
    second = kernel.run("open(flag, 'w').close()\nray.get(ref)")
    kernel.until(lambda: "from the first cell" in first.stdout)
    assert re.search(r"^\(late pid=\d+\) from the first cell$", first.stdout, re.M)
    assert "from the first cell" not in second.stdout


def test_a_tqdm_bar_of_a_task_moves_while_it_runs(kernel: Kernel) -> None:
    kernel.run(
        f"{START}\nimport nbaccel, os, tempfile, time\ngate = tempfile.mktemp()\n@nbaccel.remote\ndef bar():\n"
        "    from tqdm import tqdm\n    shown = tqdm(total=4, mininterval=0)\n    shown.update(1)\n"
        "    while not os.path.exists(gate): time.sleep(0.01)\n    shown.update(3)\n    shown.close()"
    )
    cell = kernel.run("drawn = bar.remote()")
    kernel.until(lambda: "25%" in cell.text)
    kernel.run("open(gate, 'w').close()\nnbaccel.get(drawn)")
    kernel.until(lambda: "100%" in cell.text)
    assert "%" not in cell.stdout + cell.stderr
    assert [kind for kind, _ in cell.outputs].count("display_data") == 1


def test_an_error_shows_the_users_line_and_where_it_ran(kernel: Kernel) -> None:
    kernel.run(START)
    kernel.run("import nbaccel as ray\n\n@ray.remote(num_gpus=1)\ndef train():\n    raise ValueError('bad batch')")
    error = kernel.run("ray.get(train.remote())").error
    assert error is not None
    text = "\n".join(error["traceback"])
    assert "raise ValueError('bad batch')" in text
    assert re.search(r"in train, on GPU \d, pid \d+, from cell \[3\] line 1", text)
    assert "local_engine" not in text


def test_a_cell_runs_as_a_task_and_its_result_comes_back(kernel: Kernel) -> None:
    kernel.run(START + "\nfactor = 3")
    ran = kernel.run(
        "%%accel num_gpus=1 -o out\nimport os\nfrom IPython.display import HTML, display\n"
        "display(HTML('<b>rich</b>'))\nproduct = factor * 2\nos.environ['CUDA_VISIBLE_DEVICES']"
    )
    assert [data.get("text/html") for data in ran.shown] == ["<b>rich</b>", None]
    assert ran.shown[1]["text/plain"] in ("'0'", "'1'")
    assert kernel.run("out.product").shown[0]["text/plain"] == "6"


LATE_LINES = """
import threading
from nbaccel import engine
from nbaccel.views import sinks
cluster, shown = engine.current(), sinks.installed
say, wait, asked = shown.lines, cluster.await_output, threading.Event()
def begins(info): asked.clear()
def has_ended(result): asked.set()
shown.lines = lambda message: (asked.wait(60), say(message))  # on their way until the cell waits for them, or has ended
cluster.await_output = lambda timeout_s: (asked.set(), wait(60))
get_ipython().events.register("pre_run_cell", begins)
get_ipython().events.register("post_run_cell", has_ended)
"""
IN_TIME = """
shown.lines, cluster.await_output = say, wait
get_ipython().events.unregister("pre_run_cell", begins)
get_ipython().events.unregister("post_run_cell", has_ended)
"""


@pytest.mark.parametrize(("end", "last"), [("1 / 0", "error"), ("6 * 7", "display_data")])
def test_what_a_cells_task_printed_stands_above_its_error_or_result(kernel: Kernel, end: str, last: str) -> None:
    kernel.run(START)
    kernel.run(LATE_LINES)
    cell = kernel.run(f"%%accel\nfor number in range(3):\n    print(number)\n{end}")
    kernel.until(lambda: re.findall(r"\) (\d)$", cell.stdout, re.M) == ["0", "1", "2"])
    kernel.run(IN_TIME)
    kinds = [kind for kind, _ in cell.outputs if kind in ("stream", "display_data", "error")]
    assert kinds.index(last) == len(kinds) - 1


def test_one_task_for_each_item(kernel: Kernel) -> None:
    kernel.run(START + "\nitems = [1, 2, 3]")
    kernel.run("%%accel --each=items -o out\nsquare = item * item")
    assert kernel.run("[each.square for each in out]").shown[0]["text/plain"] == "[1, 4, 9]"


def test_of_many_failures_four_are_shown_and_the_rest_is_a_count(kernel: Kernel) -> None:
    kernel.run(START + "\nitems = list(range(8))")
    error = kernel.run("%%accel --each=items\nif item < 6:\n    raise ValueError(f'item {item}')").error
    assert error is not None
    assert error["ename"] == "CellTasksFailed"
    text = "\n".join(error["traceback"])
    assert text.count("raise ValueError(f'item {item}')") == 4
    assert "and 2 more" in text
    assert "6 of 8 tasks failed" in text


def test_a_cell_that_takes_too_long_is_cancelled(kernel: Kernel) -> None:
    kernel.run(START)
    late = kernel.run("%%accel num_gpus=1 timeout=0.2\nimport time\ntime.sleep(600)")
    assert late.error is not None
    assert late.error["ename"] == "GetTimeoutError"
    kernel.run("import nbaccel, time\nwhile nbaccel.available_resources().get('GPU') != 2.0: time.sleep(0.01)")


def test_a_waiting_task_is_explained_and_cancelled_by_its_short_id(kernel: Kernel) -> None:
    kernel.run(START)
    kernel.run(
        "import nbaccel as ray, time\n\n@ray.remote(num_gpus=2)\n"
        "def hog():\n    print('hogging')\n    print('\\r10 %', end='')\n    print('\\r20 %', end='', flush=True)\n"
        "    time.sleep(600)\n"
        "\nrunning = hog.remote()\nwaiting = hog.remote()"
    )
    why = kernel.run("%accel_why waiting").text
    assert "Both GPUs are busy" in why
    assert "cell [2]" in why
    tasks = kernel.run("%accel_tasks state=waiting").text
    short = re.findall(r"^(\w{4}-\d+)", tasks, re.M)
    assert len(short) == 1
    assert "1 task told to end" in kernel.run(f"%accel_cancel {short[0]}").text
    cancelled = kernel.run("ray.get(waiting)").error
    assert cancelled is not None
    assert cancelled["ename"] == "TaskCancelledError"
    waited = kernel.run("while '20 %' not in ray.engine.current().logs(running.hex(), tail=9): time.sleep(0.02)")
    assert waited.error is None
    logs = kernel.run("%accel_logs running").stdout.splitlines()
    assert {"hogging", "20 %"} <= set(logs) and "10 %" not in logs  # of a progress bar, what it shows last
    assert "1 task told to end" in kernel.run("%accel_cancel cell=2 --force").text
    assert "told to end" not in kernel.run("%accel_cancel").text
    assert "Did you mean 'running'?" in kernel.run("%accel_why runnin").stderr


def test_a_demand_is_probed_without_starting_anything(kernel: Kernel) -> None:
    kernel.run(START)
    assert kernel.run("%accel_probe num_gpus=2").text.strip().startswith("Now: ")
    assert kernel.run("%accel_probe num_gpus=7").text.strip().startswith("Never here: ")


def test_the_timeline_has_a_row_for_each_device_and_idle_workers_are_recycled(kernel: Kernel) -> None:
    kernel.run(START)
    kernel.run(  # a worker that has loaded nothing ends by itself when it has been idle for five seconds
        "import nbaccel as ray\n\n@ray.remote(num_gpus=1, max_calls=0)\ndef train():\n"
        "    import sys\n    sys.modules['a_module_of_the_user'] = sys\n    return 1\n\n"
        "ray.get([train.remote() for _ in range(4)])"
    )
    drawn = kernel.run("%accel_timeline cell=2").shown[0]
    assert re.search(r"GPU 0 +train +✓ finished", drawn["text/plain"])
    rows = [row for row in Reading(drawn["text/html"]).rows if row[0].startswith("GPU")]
    assert {row[1] for row in rows} == {"train"} and sum(int(row[3]) for row in rows) == 4
    assert "train" not in kernel.run("%accel_timeline cell=3").shown[0]["text/plain"]
    assert re.search(r"[1-9] idle workers? ended", kernel.run("%accel_recycle").text)


def test_shutdown_leaves_no_process(kernel: Kernel) -> None:
    kernel.run(START)
    kernel.run("import nbaccel as ray\nray.get(ray.remote(num_gpus=1)(lambda: 1).remote())")
    assert kernel.descendants()
    assert "shut down" in kernel.run("%accel_shutdown").text
    assert gone(kernel.token, keep={kernel.pid}) == {}


def test_a_call_that_starts_a_cluster_after_one_was_shut_down_says_so_once(kernel: Kernel) -> None:
    said = "Started a new cluster with init()'s defaults, since the one before was shut down"
    call = "import nbaccel as ray\nray.get(ray.remote(abs).remote(-1))"
    kernel.run(START)
    assert said not in kernel.run(call).text
    kernel.run("%accel_shutdown")
    again = kernel.run(call)
    assert again.stderr.count(said) == 1 and again.stderr.count("\n") == 1
    assert said not in kernel.run(call).text
    kernel.run("ray.shutdown()")
    assert said not in kernel.run("ray.init(num_cpus=1)").text


def test_a_killed_kernel_leaves_no_process(own_kernel: Kernel) -> None:
    own_kernel.run(START)
    own_kernel.run(
        "import nbaccel as ray\n\n@ray.remote(num_gpus=1)\ndef forever():\n    while True: pass\n\n"
        "ref = forever.remote()"
    )
    assert own_kernel.descendants()
    own_kernel.kill()
    assert gone(own_kernel.token) == {}


def test_a_restarted_kernel_leaves_no_process_and_can_start_again(own_kernel: Kernel) -> None:
    own_kernel.run(START)
    before = set(own_kernel.descendants())
    own_kernel.restart()
    own_kernel.run(START)
    own_kernel.until(lambda: not before & set(own_kernel.descendants()))

"""The seeds' examples run with only their import line changed, and show the seeds' assignments (ids as strings)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.census import Place
from tests.rig import DEADLINE_S, wait_until
from tests.seeds import programs


def run(place: Place, program: str, **environ: str) -> str:
    """Run a program for Ray with nbaccel in Ray's place; what it showed."""
    changed = program.replace("import ray\n", "import nbaccel as ray\n").replace("from ray.", "from nbaccel.")
    done = place.run(changed, **environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", programs.FAMILIES)
def test_an_actor_holds_the_first_device_and_a_task_gets_the_second(place: Place, name: str) -> None:
    family = programs.FAMILIES[name]
    shown = run(
        place, programs.first_example(family), **({"NBACCEL_SIMULATE": family.simulate} if family.simulate else {})
    )
    lines = [re.sub(r"pid=\d+", "pid=N", line) for line in shown.splitlines()]
    lines.sort(key=lambda line: line.startswith(f"({family.task} "))  # a process's are in order; two are read apart
    assert lines == [
        f"({family.actor} pid=N) {family.label}: ['0']",
        f"({family.actor} pid=N) {family.variable}: {family.values[0]}",
        f"({family.task} pid=N) {family.label}: ['1']",
        f"({family.task} pid=N) {family.variable}: {family.values[1]}",
    ]
    assert len(set(re.findall(r"pid=(\d+)", shown))) == 2


# In the place of the second that the example sleeps: until all four are there.
MEETING = """import os
    open(os.path.join(os.environ["MEETING"], str(os.getpid())), "w").close()
    while len(os.listdir(os.environ["MEETING"])) < 4: time.sleep(0.01)
"""
OVERLAP = """
rows = [row for row in ray.timeline() if row["name"] == "f"]
lanes = {row["tid"] for row in rows if row["pid"] == "devices"}
print(sorted(lanes), max(row["ts"] for row in rows) < min(row["ts"] + row["dur"] for row in rows))
"""


@pytest.mark.parametrize(
    ("init", "option", "resource"),
    [
        ("num_gpus=1", "num_gpus=0.25", "GPU"),
        ('resources={"NPU": 1}', 'resources={"NPU": 0.25}', "NPU"),
    ],
)
def test_four_quarters_share_one_device_at_the_same_time(
    place: Place, tmp_path: Path, init: str, option: str, resource: str
) -> None:
    # Four processes may need more than a second to start.
    program = programs.FRACTIONS.format(init=init, option=option).replace("time.sleep(1)", MEETING)
    shown = run(place, program + OVERLAP, MEETING=str(tmp_path))
    assert shown == f"['{resource} 0'] True\n"


def test_fractions_are_packed_before_the_next_device_is_opened(place: Place) -> None:
    cores = len(os.sched_getaffinity(0))
    # An actor that names a resource holds a CPU for life, as in Ray: three of them need three.
    program = programs.PACKING if cores >= 3 else programs.PACKING.replace("num_gpus=3", "num_gpus=3, num_cpus=3")
    shown = run(place, program)
    assert sorted(re.sub(r"pid=\d+", "pid=N", shown).splitlines()) == [
        "(FractionalGPUActor pid=N) GPU id: ['0']",
        "(FractionalGPUActor pid=N) GPU id: ['0']",
        "(FractionalGPUActor pid=N) GPU id: ['1']",
    ]


@pytest.mark.parametrize(
    "option", ['resources={"neuron_cores": 0.5}', 'resources={"TPU": 0.5}', 'resources={"HPU": 0.5}']
)
def test_families_without_fractions_refuse_them(place: Place, option: str) -> None:
    resource = re.findall(r'"(\w+)"', option)[0]
    done = place.run(
        f"import nbaccel as ray\nray.init(num_cpus=4, resources={{'{resource}': 1}})\n"
        f"@ray.remote({option})\ndef f(): ...\nray.get(f.remote())"
    )
    assert done.returncode == 1
    assert "ValueError" in done.stderr
    assert resource in done.stderr.splitlines()[-1]


def test_an_accelerator_type_finds_a_node_that_has_it(place: Place) -> None:
    assert "Tesla V100" in run(place, programs.ACCELERATOR_TYPE, NBACCEL_SIMULATE="nvidia:1xV100")


@pytest.mark.extra("numba")
def test_a_compiled_function_works_inside_a_remote_one(place: Place) -> None:
    assert run(place, programs.WRAPPED_KERNEL) == "[0.0, 2.0, 4.0, 6.0]\n"


def test_every_gpu_task_has_a_process_of_its_own(place: Place) -> None:
    assert run(place, programs.RELEASING) == "6\n"


@pytest.mark.parametrize(
    ("init", "timeout", "ids"), [("num_gpus=1", 240, "[0]"), ("num_gpus=0", 0.2, "[]")], ids=["a GPU", "none"]
)
def test_a_program_that_falls_back_by_hand_still_does(place: Place, init: str, timeout: float, ids: str) -> None:
    assert run(place, programs.CPU_FALLBACK.format(init=init, timeout=timeout)) == f"{ids}\n"


STARTS = [
    ("CUDA_VISIBLE_DEVICES", ("--num-gpus=2",), "num_gpus=1", "GPU"),
    ("ROCR_VISIBLE_DEVICES", ("--num-gpus=2",), "num_gpus=1", "GPU"),
    (
        "NEURON_RT_VISIBLE_CORES",
        ("--resources", '{"neuron_cores": 2}'),
        'resources={"neuron_cores": 1}',
        "neuron_cores",
    ),
    ("TPU_VISIBLE_CHIPS", ("--resources", '{"TPU": 2}'), 'resources={"TPU": 1}', "TPU"),
    ("HABANA_VISIBLE_MODULES", ("--resources", '{"HPU": 2}'), 'resources={"HPU": 1}', "HPU"),
    ("ASCEND_RT_VISIBLE_DEVICES", ("--resources", '{"NPU": 2}'), 'resources={"NPU": 1}', "NPU"),
]

JOINING = """\
import os
import ray
ray.init(address="auto")

@ray.remote({option})
class Holder:
    def see(self):
        return ray.get_runtime_context().get_accelerator_ids()["{resource}"], os.environ["{variable}"]

holders = [Holder.remote() for _ in range(2)]
print(ray.get([holder.see.remote() for holder in holders]))
"""


@pytest.mark.parametrize(("variable", "options", "option", "resource"), STARTS, ids=[row[0] for row in STARTS])
def test_a_head_offers_only_the_devices_that_its_variable_names(
    place: Place, variable: str, options: tuple[str, ...], option: str, resource: str
) -> None:
    started = place.command("start", "--head", *options, **{variable: "1,3"})
    assert started.returncode == 0, started.stderr
    try:
        shown = run(place, JOINING.format(option=option, resource=resource, variable=variable))
        assert "[(['1'], '1'), (['3'], '3')]" in shown
    finally:
        stopped = place.command("stop")
    assert stopped.returncode == 0, stopped.stderr


def test_more_gpus_than_are_visible_is_an_error_that_names_both(place: Place) -> None:
    done = place.command("start", "--head", "--num-gpus=3", CUDA_VISIBLE_DEVICES="1,3")
    assert done.returncode != 0
    assert "3" in done.stderr
    assert "1,3" in done.stderr


def test_the_head_of_the_command_line_serves_two_programs_at_once(place: Place) -> None:
    assert place.command("start", "--head", "--num-gpus=2", "--num-cpus=2").returncode == 0
    waiting = (
        "import nbaccel as ray, sys\nray.init(address='auto')\n"
        "@ray.remote(num_gpus=1)\ndef f(): return ray.get_gpu_ids()\n"
        "print('ready', flush=True); sys.stdin.readline()\nprint(ray.get(f.remote()), flush=True)"
    )
    programs_started = [place.start(waiting) for _ in range(2)]
    for program in programs_started:
        assert program.stdout is not None
        line = ""
        while line != "ready\n":
            line = program.stdout.readline()
            assert line, program.communicate()
    outputs = [_finish(program) for program in programs_started]
    assert [out.splitlines()[-1] in ("[0]", "[1]") for out in outputs] == [True, True]
    status = place.command("status", "--json")
    assert status.returncode == 0
    assert place.command("stop").returncode == 0
    wait_until(lambda: not place.left(), "the head's end")


def _finish(program: subprocess.Popen[str]) -> str:
    out, err = program.communicate("go\n", timeout=DEADLINE_S)
    assert program.returncode == 0, err
    return out

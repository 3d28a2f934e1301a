"""Modules that a program is likely to need are loaded beside its work, and workers to come have them."""

import sys

import pytest

import nbaccel
from nbaccel import api
from tests.census import Place
from tests.heads import inside
from tests.rig import wait_until

EXPECTED = ("mailbox", "wsgiref.validate")  # of the standard library, and imported by nobody else


@pytest.fixture(scope="module")
def head():
    place = Place()
    with inside(place):
        nbaccel.init(num_cpus=2)
        yield


@nbaccel.remote(max_calls=1)
def loaded(names):
    return [name for name in names if name in sys.modules]


@nbaccel.remote
class Asked:
    def loaded(self, names):
        return [name for name in names if name in sys.modules]


def wait_for(*names):
    wait_until(lambda: nbaccel.get(loaded.remote(names)) == list(names), f"workers with {names}")


def test_workers_to_come_have_expected_modules_loaded_and_actors_too(head):
    assert nbaccel.get(loaded.remote(EXPECTED)) == []
    api.expect_imports(EXPECTED[:1])
    wait_for("mailbox")
    # The spare worker was replaced as well: no process of the zygote before is given to anybody.
    actors = [Asked.remote() for _ in range(2)]
    assert nbaccel.get([actor.loaded.remote(EXPECTED) for actor in actors]) == [["mailbox"]] * 2


def test_what_cannot_be_imported_is_no_error_and_keeps_no_other_module_away(head, capsys):
    api.expect_imports(["no_such_module_anywhere", "mailbox", "wsgiref.validate"])
    wait_for(*EXPECTED)
    assert capsys.readouterr().err == ""


PROGRAM = """
import sys, time, nbaccel
import nbaccel.train.torch
from nbaccel import engine
from nbaccel.train import ScalingConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer

def loaded():
    return [name for name in ("torch", "nbaccel.train.torch.config") if name in sys.modules]

print("here", "torch" in sys.modules)
nbaccel.init(num_cpus=2)
until = time.monotonic() + 100
while not nbaccel.get(nbaccel.remote(max_calls=1)(loaded).remote()) and time.monotonic() < until:
    pass
result = DataParallelTrainer(loaded, scaling_config=ScalingConfig(num_workers=2)).fit()
print("there", result.return_value)
nbaccel.shutdown()
print("left", engine._expected_imports)
"""


@pytest.mark.extra("torch")
def test_importing_the_trainers_of_torch_has_torch_loaded_for_the_next_cluster_alone(place, tmp_path):
    done = place.run(PROGRAM, NBACCEL_STORAGE=str(tmp_path))
    said = ["here False", "there ['torch', 'nbaccel.train.torch.config']", "left []"]
    assert done.stdout.splitlines() == said, done.stderr
    place.assert_nothing_left()

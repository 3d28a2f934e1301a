"""Ray's libraries that are not here, and the module paths that are."""

import asyncio
import importlib
import inspect
import operator
import pickle
import pydoc
import subprocess
import sys
from typing import get_args

import pytest

import nbaccel
from nbaccel import elsewhere

LIBRARIES = ["data", "job_submission", "llm", "rllib", "workflow"]


def entered(name):
    with name:
        pass


def entered_async(name):
    async def enter():
        async with name:
            pass

    asyncio.run(enter())


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_that_is_not_here_imports_and_says_where_it_is_when_used(name):
    library = importlib.import_module(f"nbaccel.{name}")
    assert getattr(nbaccel, name) is library
    with pytest.raises(ModuleNotFoundError, match=rf"nbaccel has no {name}.run: .*engine='ray'.*`import ray.{name}`"):
        library.run(1)


def test_what_rays_air_had_for_training_is_said_to_be_in_train():
    library = importlib.import_module("nbaccel.air")
    assert nbaccel.air is library
    with pytest.raises(ModuleNotFoundError, match=r"nbaccel has no air.run: .* is in nbaccel.train"):
        library.run(1)


def test_every_way_to_import_such_a_name_gives_the_same_words():
    from nbaccel.rllib import Algorithm
    from nbaccel.rllib.algorithms import PPO

    from nbaccel import rllib

    assert Algorithm is rllib.Algorithm
    with pytest.raises(ModuleNotFoundError, match=r"no rllib.Algorithm: .* RLlib .*`import ray.rllib`"):
        Algorithm()
    with pytest.raises(ModuleNotFoundError, match=r"no rllib.algorithms.PPO: .*`import ray.rllib.algorithms`"):
        PPO()


def test_what_a_package_does_with_such_a_name_at_its_top_works():
    data, rllib = nbaccel.data, importlib.import_module("nbaccel.rllib")

    def rows(source: data.Dataset | None, more: "list[data.Dataset]", typed: data.Dataset[int]) -> bool:
        return isinstance(source, data.Dataset)

    class OwnAlgorithm(rllib.Algorithm):
        pass

    assert not rows([1], [], None)
    assert issubclass(OwnAlgorithm, rllib.Algorithm)
    assert pickle.loads(pickle.dumps(data.Dataset)) is data.Dataset
    assert inspect.isclass(data.Dataset) and not hasattr(data.Dataset, "take")
    with pytest.raises(ModuleNotFoundError, match=r"no rllib.Algorithm: "):
        OwnAlgorithm()


def test_such_a_name_refuses_as_a_decorator_and_by_its_attributes():
    with pytest.raises(ModuleNotFoundError, match=r"no workflow.options: "):

        @nbaccel.workflow.options
        class Model:
            pass

    with pytest.raises(AttributeError, match=r"no data.Dataset: .*engine='ray'"):
        _ = nbaccel.data.Dataset.from_items


@pytest.mark.parametrize(
    "use",
    [list, iter, next, len, reversed, abs, float, int, round, lambda name: 1 in name, lambda name: [*name],
     lambda name: name + 1, lambda name: 1 - name, lambda name: -name, lambda name: name < 1,
     lambda name: name.__class__.__await__(name), lambda name: operator.setitem(name, 0, 1), entered, entered_async],
)  # fmt: skip
def test_such_a_name_refuses_whatever_python_does_with_a_value(use):
    with pytest.raises(ModuleNotFoundError, match=r"^nbaccel has no data.read_csv: .*`import ray.data`"):
        use(nbaccel.data.read_csv)


def test_such_a_name_is_still_true_and_a_type_where_annotations_need_one():
    data = nbaccel.data
    assert data.Dataset and data.Dataset == data.Dataset and {data.Dataset: 1}
    assert get_args(data.Dataset | None) == (data.Dataset, type(None))
    assert get_args(data.Dataset[int]) == (int,)


MISSING = [
    "client_builder", "cross_language", "experimental.internal_kv", "internal", "util.client", "util.iter", "util.pdb",
    "util.rpdb", "util.tracing", "widgets", "cluster_utils.AutoscalingCluster",
]  # fmt: skip


@pytest.mark.parametrize("path", MISSING)
def test_what_ray_has_and_nbaccel_lacks_says_where_it_is(path):
    package, _, name = f"nbaccel.{path}".rpartition(".")
    module = importlib.import_module(package)
    with pytest.raises(AttributeError, match=rf"no {path}: .*engine='ray'.*`import ray` beside nbaccel and ray.{path}"):
        getattr(module, name)
    assert not hasattr(module, name)


@pytest.mark.parametrize("statement", ["import nbaccel.util.tracing.tracing_helper", "from nbaccel.util import iter"])
def test_an_import_of_what_nbaccel_lacks_says_where_it_is(statement):
    with pytest.raises(
        ModuleNotFoundError, match=r"nbaccel has no util.(tracing|iter).*: .*`import ray` beside nbaccel"
    ):
        exec(statement)


def test_other_names_below_nbaccel_are_still_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'nbaccel.datas'"):
        importlib.import_module("nbaccel.datas")
    assert not hasattr(nbaccel, "datas") and not hasattr(nbaccel.data, "__wrapped__")


def test_a_module_of_nbaccels_own_comes_before_one_that_is_not_here(tmp_path):
    (tmp_path / "workflow.py").write_text("OWN = True")
    program = (
        f"import nbaccel; nbaccel.__path__.append({str(tmp_path)!r})\n"
        "from nbaccel.workflow import OWN; assert OWN is True"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_rays_module_paths_lead_to_the_same_things():
    from nbaccel.remote_function import RemoteFunction

    from nbaccel.cloudpickle import dumps, loads
    from nbaccel.runtime_context import get_runtime_context

    assert isinstance(nbaccel.remote(len), RemoteFunction) and nbaccel.remote_function.RemoteFunction is RemoteFunction
    assert get_runtime_context is nbaccel.get_runtime_context
    captured = 3
    assert loads(dumps(lambda: captured))() == 3 and nbaccel.cloudpickle.loads is loads


@pytest.mark.parametrize(("path", "row"), elsewhere._PATHS.items())
def test_a_path_of_rays_has_the_names_of_another_place(path, row):
    module = importlib.import_module(f"nbaccel.{path}")
    home = importlib.import_module(f"nbaccel.{row[0]}".rstrip("."))
    listed = home.__all__ if row[1] == "*" else row[1].split(", ")
    names = {name.rpartition(" as ")[2] for name in listed if name}
    assert set(module.__all__) == names and all(isinstance(getattr(module, name), object) for name in names)
    assert module.__doc__.endswith(f" {home.__name__}.") and module.__doc__ in pydoc.render_doc(module)


def test_names_at_a_path_of_rays_are_the_same_things_and_travel_by_reference():
    from nbaccel.train.v2.api.config import RunConfig
    from nbaccel.tune.logger.csv import CSVLoggerCallback

    from nbaccel import train, tune

    assert RunConfig is train.RunConfig and CSVLoggerCallback is tune.logger.CSVLoggerCallback
    assert pickle.loads(pickle.dumps(CSVLoggerCallback)) is CSVLoggerCallback
    with pytest.raises(ImportError, match="cannot import name 'ScalingConfig' from"):
        from nbaccel.tune.logger.csv import ScalingConfig  # noqa: F401


def test_a_worker_finds_a_path_of_rays_without_an_import_of_its_package():
    program = "import importlib; print(importlib.import_module('nbaccel.train.v2.api.context').TrainContext)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "<class 'nbaccel.train.session.TrainContext'>\n"

"""What code may ask about itself, in a driver, a task and an actor."""

import pytest

import nbaccel


@pytest.fixture(scope="module", autouse=True)
def engine():
    nbaccel.init(num_cpus=2, num_gpus=1, namespace="here")
    yield
    nbaccel.shutdown()


def _facts():
    context = nbaccel.get_runtime_context()
    return {
        "job": context.get_job_id(),
        "node": context.get_node_id(),
        "worker": context.get_worker_id(),
        "task": context.get_task_id(),
        "name": context.get_task_name(),
        "actor": context.get_actor_id(),
        "actor name": context.get_actor_name(),
        "namespace": context.namespace,
        "objects": (context.job_id, context.node_id, context.task_id, context.actor_id),
    }


def test_a_driver_is_no_task():
    context, facts = nbaccel.get_runtime_context(), _facts()
    assert facts["namespace"] == "here" and facts["node"] == nbaccel.nodes()[0]["NodeID"]
    assert facts["task"] is facts["actor"] is facts["name"] is facts["actor name"] is None
    assert not any(context.get_accelerator_ids().values()) and nbaccel.get_gpu_ids() == []
    with pytest.raises(AssertionError):
        context.get_assigned_resources()
    with pytest.raises(RuntimeError):
        assert context.current_actor
    assert set(context.get()) == {"job_id", "node_id", "namespace"}


def test_a_task_knows_its_ids_as_text_and_as_objects():
    ref = nbaccel.remote(_facts).options(name="asked").remote()
    facts = nbaccel.get(ref)
    assert facts["task"] == ref.task_id().hex() and facts["name"] == "asked" and facts["actor"] is None
    job, node, task, actor = facts["objects"]
    assert (job.hex(), node.hex(), task, actor) == (facts["job"], facts["node"], ref.task_id(), None)
    assert facts["worker"] != _facts()["worker"]


def test_an_actor_knows_its_name_and_itself():
    @nbaccel.remote(num_gpus=1)
    class Actor:
        def facts(self):
            context = nbaccel.get_runtime_context()
            return _facts(), context.get_assigned_resources(), context.get_accelerator_ids()["GPU"]

        def labels(self):
            return nbaccel.get_runtime_context().get_node_labels()

    actor = Actor.options(name="known").remote()
    facts, resources, gpus = nbaccel.get(actor.facts.remote())
    assert facts["actor"] == actor._actor_id.hex() and facts["actor name"] == "known"
    assert facts["name"] == "Actor.facts" and facts["objects"][3] == actor._actor_id
    assert resources == {"CPU": 1.0, "GPU": 1.0} and gpus == ["0"]
    assert nbaccel.get(actor.labels.remote())["ray.io/node-id"] == facts["node"]


def test_the_runtime_environment_is_one():
    @nbaccel.remote(runtime_env={"env_vars": {"A": "1"}})
    def own():
        environment = nbaccel.get_runtime_context().runtime_env
        return type(environment).__name__, environment.env_vars()

    assert nbaccel.get(own.remote()) == ("RuntimeEnv", {"A": "1"})
    assert nbaccel.get_runtime_context().runtime_env == {}


def test_a_task_knows_its_function_with_its_module():
    def own_name():
        return nbaccel.get_runtime_context().get_task_function_name()

    class Model:
        def __init__(self):
            self.born_in = own_name()

        def step(self):
            return self.born_in, own_name()

    assert nbaccel.get(nbaccel.remote(own_name).options(name="other").remote()) == f"{__name__}.own_name"
    born_in, step = nbaccel.get(nbaccel.remote(Model).remote().step.remote())
    assert (born_in, step) == (f"{__name__}.Model.__init__", f"{__name__}.Model.step")

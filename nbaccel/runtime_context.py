"""Facts that a task can ask about itself: its ids, its node, its devices."""

from __future__ import annotations

from typing import Any

from nbaccel import engine as engines
from nbaccel.engine import Engine
from nbaccel.handles.code_facts import CodeFacts
from nbaccel.handles.ids import ActorID, JobID, NodeID, PlacementGroupID, TaskID
from nbaccel.runtime_env import RuntimeEnv


class RuntimeContext:
    """The result of `get_runtime_context()`. Ids are hex strings, or None if there is none (as in a driver)."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def _facts(self) -> CodeFacts:
        return self._engine.context()

    def get_accelerator_ids(self) -> dict[str, list[str]]:
        """Assigned device ids of every family, e.g. {"GPU": ["0"], "TPU": [], …}; strings, in device order."""
        return dict(self._facts.accelerator_ids)

    def get_assigned_resources(self) -> dict[str, float]:
        """The resources that this task or actor holds, e.g. {"CPU": 1.0, "GPU": 0.5}.

        As in Ray, this raises AssertionError in a driver.
        """
        facts = self._facts
        assert facts.is_worker, "get_assigned_resources can only be called within a worker."
        return dict(facts.assigned_resources)

    def get_job_id(self) -> str:
        return self._facts.job_id

    def get_node_id(self) -> str:
        return str(self._facts.node_id)

    def get_worker_id(self) -> str:
        return self._facts.worker_id

    def get_task_id(self) -> str | None:
        return self._facts.task_id

    def get_task_name(self) -> str | None:
        return self._facts.task_name

    def get_task_function_name(self) -> str | None:
        return self._facts.task_function_name

    def get_actor_id(self) -> str | None:
        return self._facts.actor_id

    def get_actor_name(self) -> str | None:
        return self._facts.actor_name

    def get_placement_group_id(self) -> str | None:
        return self._facts.placement_group_id

    def get_node_labels(self) -> dict[str, str]:
        """The labels of the node that this code runs on."""
        node_id = self.get_node_id()
        for node in self._engine.nodes():
            if node["NodeID"] == node_id:
                return dict(node["Labels"])
        return {}

    def is_canceled(self) -> bool:
        """Whether somebody cancelled this call; a method of a sync actor checks this from time to time."""
        return self._facts.is_canceled

    @property
    def fallback_taken(self) -> bool:
        """Whether a fallback choice runs instead of the first choice."""
        return self._facts.fallback_taken

    @property
    def fallback_choice(self) -> str:
        """The fallback choice in words, "" if the first choice runs."""
        return self._facts.fallback_label

    @property
    def was_current_actor_reconstructed(self) -> bool:
        return self._facts.reconstructed

    @property
    def current_actor(self) -> Any:
        """A handle of the actor that runs this code; it keeps no actor alive. Raises RuntimeError elsewhere."""
        return self._engine.current_actor()

    @property
    def namespace(self) -> str:
        return self._facts.namespace

    @property
    def runtime_env(self) -> RuntimeEnv:
        """A dict, with the methods of RuntimeEnv."""
        return RuntimeEnv.deserialize(self._facts.runtime_env or "{}")

    def get_runtime_env_string(self) -> str:
        return self._facts.runtime_env or "{}"

    @property
    def should_capture_child_tasks_in_placement_group(self) -> bool:
        """Whether what this task submits runs in its placement group too."""
        return self._facts.captures

    @property
    def gcs_address(self) -> str:
        return self._facts.address

    def get_session_name(self) -> str:
        return self._facts.session_name

    def get_temp_dir(self) -> str:
        return self._facts.session_dir

    def get(self) -> dict[str, Any]:
        """The ids of the running job, node, task and actor as objects, and the namespace."""
        ids = {"job_id": self.job_id, "node_id": self.node_id, "task_id": self.task_id, "actor_id": self.actor_id}
        return {name: id for name, id in ids.items() if id is not None} | {"namespace": self.namespace}

    @property
    def job_id(self) -> JobID:
        """As an object; `get_job_id()` is the hex string."""
        return JobID(bytes.fromhex(self.get_job_id()))

    @property
    def node_id(self) -> NodeID:
        return NodeID(bytes.fromhex(self.get_node_id()))

    @property
    def task_id(self) -> TaskID | None:
        text = self.get_task_id()
        return None if text is None else TaskID(bytes.fromhex(text))

    @property
    def actor_id(self) -> ActorID | None:
        text = self.get_actor_id()
        return None if text is None else ActorID(bytes.fromhex(text))

    @property
    def current_placement_group_id(self) -> PlacementGroupID | None:
        text = self.get_placement_group_id()
        return None if text is None else PlacementGroupID(bytes.fromhex(text))

    def get_resource_ids(self) -> dict[str, list[str]]:
        return self.get_accelerator_ids()


def get_runtime_context() -> RuntimeContext:
    """Facts about the running code: its ids, its node, its devices.

    >>> @nbaccel.remote(num_gpus=1)
    ... def mine(): return nbaccel.get_runtime_context().get_accelerator_ids()["GPU"]
    >>> nbaccel.get(mine.remote())
    ['...']
    """
    return RuntimeContext(engines.current())

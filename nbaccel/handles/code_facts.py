"""Facts about the running code in a driver, a task or an actor; ids are hex."""

from __future__ import annotations

from dataclasses import dataclass, field

from nbaccel.quantities import ACCELERATORS


@dataclass(frozen=True)
class CodeFacts:
    """An id is None if there is none: a driver has no task. The defaults are those of a driver."""

    job_id: str
    node_id: str | None
    worker_id: str
    namespace: str
    session_name: str
    session_dir: str
    address: str
    task_id: str | None = None
    task_name: str | None = None
    task_function_name: str | None = None
    actor_id: str | None = None
    actor_name: str | None = None
    class_name: str | None = None
    accelerator_ids: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in ACCELERATORS})
    assigned_resources: dict[str, float] = field(default_factory=dict)
    is_canceled: bool = False
    fallback_taken: bool = False
    fallback_label: str = ""
    runtime_env: str = "{}"  # JSON
    attempt: int = 0
    reconstructed: bool = False
    placement_group_id: str | None = None
    captures: bool = False  # its own submissions run in its placement group too
    is_worker: bool = False

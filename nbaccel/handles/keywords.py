"""The options as keywords with types, for type checkers alone: a running program does not import this.

`options.py` says what a running program accepts; tests/types/test_keywords.py compares the two. `num_returns` is not
here: it decides what a call gives, so the signatures name it themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from nbaccel.handles.placement_group_handle import PlacementGroup

Size: TypeAlias = float | str  # bytes, or "10GiB"
Errors: TypeAlias = Sequence[type[BaseException]]


class FallbackChoice(TypedDict, total=False):
    """One dict of `fallback=[...]`."""

    num_cpus: float | None
    num_gpus: float | None
    resources: Mapping[str, float] | None
    memory: float | None
    accelerator_type: str | None
    gpu_memory: Size | None
    label_selector: Mapping[str, str] | None


class _ResourceKeywords(FallbackChoice, total=False):
    fallback_strategy: list[dict[str, Any]] | None
    scheduling_strategy: Any  # "DEFAULT", "SPREAD" or one of the strategy classes, also Ray's own
    placement_group: PlacementGroup | Literal["default"] | None
    placement_group_bundle_index: int | None
    placement_group_capture_child_tasks: bool | None
    runtime_env: Mapping[str, Any] | None
    enable_task_events: bool
    _labels: Mapping[str, str] | None
    fallback: Literal["cpu"] | FallbackChoice | Sequence[FallbackChoice] | None
    fallback_after_s: float | None
    fallback_on: type[BaseException] | Errors | None
    hide_unassigned: bool | None


class RemoteKeywords(_ResourceKeywords, total=False):
    """`@remote(...)` on a function or a class: the options that both have."""

    name: str | None


class TaskKeywords(RemoteKeywords, total=False):
    """The `.options(...)` of a remote function."""

    max_retries: int | None
    retry_exceptions: bool | Errors
    _generator_backpressure_num_objects: int | None
    _num_objects_per_yield: int | None


class FunctionKeywords(TaskKeywords, total=False):
    """`@remote(...)` on a function."""

    max_calls: int | None


class ActorKeywords(RemoteKeywords, total=False):
    """The `.options(...)` of an actor class."""

    namespace: str | None
    lifetime: Literal["detached", "non_detached"] | None
    get_if_exists: bool
    max_restarts: int | None
    max_task_retries: int | None
    max_pending_calls: int | None
    max_concurrency: int | None
    allow_out_of_order_execution: bool | None
    enable_tensor_transport: bool | None
    _actor_generator_backpressure_num_objects: int | None


class ClassKeywords(ActorKeywords, total=False):
    """`@remote(...)` on a class."""

    concurrency_groups: Mapping[str, int] | list[dict[str, Any]] | None


class MethodKeywords(TypedDict, total=False):
    """`@method(...)`."""

    concurrency_group: str | None
    max_task_retries: int | None
    retry_exceptions: bool | Errors
    enable_task_events: bool
    tensor_transport: str | None
    _generator_backpressure_num_objects: int | None


class CallKeywords(MethodKeywords, total=False):
    """The `.options(...)` of a method of an actor."""

    name: str | None


class InitKeywords(TypedDict, total=False):
    """`init(...)`: Ray's keywords, and those of nbaccel."""

    token_file: str | None
    num_cpus: int | None
    num_gpus: int | None
    resources: Mapping[str, float] | None
    labels: Mapping[str, str] | None
    object_store_memory: Size | None
    _memory: Size | None
    ignore_reinit_error: bool
    include_dashboard: bool | None
    dashboard_host: str | None
    dashboard_port: int | None
    job_config: Any  # a JobConfig, also Ray's own
    configure_logging: bool
    logging_level: int | str
    logging_format: str | None
    logging_config: Any  # a LoggingConfig, also Ray's own
    log_to_driver: bool | None
    namespace: str | None
    runtime_env: Mapping[str, Any] | None
    engine: Literal["local", "ray", "debug"] | None
    preload: Sequence[str] | None
    gpu_vendor: str | None
    simulate: str | None
    hide_unassigned: bool
    on_interrupt: Literal["cancel", "detach", "force"] | None
    infeasible: Literal["warn", "raise"] | None
    leak_threshold: Size | None
    node_types: Mapping[str, Mapping[str, Any]] | str | None
    notify: str | Sequence[str] | None
    notify_after_s: float | None
    shared: bool
    _code_search_path: Sequence[str] | None
    local_mode: Literal[False]
    # what only a cluster of Ray acts on
    enable_resource_isolation: bool
    cgroup_path: str | None
    system_reserved_cpu: float | None
    system_reserved_memory: int | None
    proxy_server_url: str | None
    _enable_object_reconstruction: bool
    _plasma_directory: str | None
    _object_spilling_directory: str | None
    _node_ip_address: str
    _driver_object_store_memory: int | None
    _redis_username: str
    _redis_password: str
    _temp_dir: str | None
    _metrics_export_port: int | None
    _system_config: dict[str, Any] | None
    _tracing_startup_hook: Any
    _node_name: str | None
    _skip_env_hook: bool

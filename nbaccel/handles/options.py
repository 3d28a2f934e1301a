"""The options of tasks, actors, methods and init(): frozen records, and one table that says which is legal where.

task_options(num_gpus=1)          what @remote(...) on a function gives     ─► TaskOptions
actor_options(num_gpus=1)         what @remote(...) on a class gives        ─► ActorOptions
method_options(num_returns=2)     what @method(...) gives                   ─► MethodOptions
init_options(num_cpus=4)          what init(...) gives                      ─► InitOptions
options.merged(num_gpus=2)        what .options(...) makes of them
demand_of_task, demand_of_actor   what the scheduler is asked for, in 1/10_000 of each resource
"""

import enum
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from nbaccel.handles import option_checks as checks
from nbaccel.handles.node_types import node_types
from nbaccel.handles.option_checks import Check, did_you_mean, runtime_env
from nbaccel.quantities import ACCELERATORS, TYPE_PREFIX, TYPE_SHARE, UNIT, to_units

Demand = dict[str, int]
Given = TypeVar("Given", bound="ResourceOptions")

_TYPE_LABEL = "ray.io/accelerator-type"


class Where(enum.Flag):
    """The places where an option can be written."""

    TASK = enum.auto()
    TASK_OPTIONS = enum.auto()
    ACTOR = enum.auto()
    ACTOR_OPTIONS = enum.auto()
    METHOD = enum.auto()
    METHOD_OPTIONS = enum.auto()
    CHOICE = enum.auto()  # one dict of fallback=[...]
    INIT = enum.auto()


TASKS = Where.TASK | Where.TASK_OPTIONS
ACTORS = Where.ACTOR | Where.ACTOR_OPTIONS
METHODS = Where.METHOD | Where.METHOD_OPTIONS
BOTH = TASKS | ACTORS


def _fallback(name: str, value: Any) -> tuple[dict[str, Any], ...] | str | None:
    if value is None or value == "cpu":
        return value  # type: ignore[no-any-return]
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list | tuple) or not all(isinstance(choice, Mapping) for choice in value):
        raise checks.wrong_type(name, value, "'cpu' or a list of dicts such as {'num_cpus': 4}")
    return tuple(_checked(Where.CHOICE, choice) for choice in value)


# Name, where it is legal, how its value is checked. A leading underscore is left out of the record's field name.
OPTIONS: tuple[tuple[str, Where, Check], ...] = (
    ("num_cpus", BOTH | Where.CHOICE, checks.quantity),
    ("num_gpus", BOTH | Where.CHOICE, checks.quantity),
    ("resources", BOTH | Where.CHOICE, checks.resources),
    ("memory", BOTH | Where.CHOICE, checks.quantity),
    ("accelerator_type", BOTH | Where.CHOICE, checks.word),
    ("gpu_memory", BOTH | Where.CHOICE, checks.size_bytes),
    ("label_selector", BOTH | Where.CHOICE, checks.label_selector),
    ("fallback_strategy", BOTH, checks.fallback_strategy),
    ("scheduling_strategy", BOTH, checks.scheduling_strategy),
    ("placement_group", BOTH, checks.placement_group),
    ("placement_group_bundle_index", BOTH, checks.whole_number(-1, none=-1)),
    ("placement_group_capture_child_tasks", BOTH, checks.switch_or_none),
    ("runtime_env", BOTH | Where.INIT, runtime_env),
    ("enable_task_events", BOTH | METHODS, checks.switch),
    ("_labels", BOTH, checks.string_dict),
    ("fallback", BOTH, _fallback),
    ("fallback_after_s", BOTH, checks.seconds),
    ("fallback_on", BOTH, checks.fallback_on),
    ("hide_unassigned", BOTH, checks.switch_or_none),
    ("name", TASKS | Where.METHOD_OPTIONS, checks.word),
    ("num_returns", TASKS | METHODS, checks.num_returns),
    ("max_calls", Where.TASK, checks.whole_number(0)),
    ("max_retries", TASKS, checks.whole_number(-1, " (-1 is without end)", none=3)),
    ("retry_exceptions", TASKS | METHODS, checks.retry_exceptions),
    ("_generator_backpressure_num_objects", TASKS | METHODS, checks.backpressure),
    ("_num_objects_per_yield", TASKS, checks.whole_number(1)),
    ("name", ACTORS, checks.nonempty_word),
    ("namespace", ACTORS | Where.INIT, checks.nonempty_word),
    ("lifetime", ACTORS, checks.one_of("detached", "non_detached")),
    ("get_if_exists", ACTORS, checks.switch),
    ("max_restarts", ACTORS, checks.whole_number(-1, " (-1 is without end)", none=0)),
    ("max_task_retries", ACTORS, checks.whole_number(-1, " (-1 is without end)", none=0)),
    ("max_pending_calls", ACTORS, checks.whole_number(-1, " (-1 is without limit)", none=-1)),
    ("max_concurrency", ACTORS, checks.whole_number(1)),
    ("concurrency_groups", Where.ACTOR, checks.concurrency_groups),
    ("allow_out_of_order_execution", ACTORS, checks.switch_or_none),
    ("enable_tensor_transport", ACTORS, checks.switch_or_none),
    ("_actor_generator_backpressure_num_objects", ACTORS, checks.backpressure),
    ("concurrency_group", METHODS, checks.nonempty_word),
    ("max_task_retries", METHODS, checks.whole_number(-1, " (-1 is without end)")),
    ("tensor_transport", METHODS, checks.word),
    ("address", Where.INIT, checks.word),
    ("token_file", Where.INIT, checks.nonempty_word),
    ("num_cpus", Where.INIT, checks.whole_quantity),
    ("num_gpus", Where.INIT, checks.whole_quantity),
    ("resources", Where.INIT, checks.whole_resources),
    ("labels", Where.INIT, checks.string_dict),
    ("object_store_memory", Where.INIT, checks.size_bytes),
    ("_memory", Where.INIT, checks.size_bytes),
    ("ignore_reinit_error", Where.INIT, checks.switch),
    ("include_dashboard", Where.INIT, checks.switch_or_none),
    ("dashboard_host", Where.INIT, checks.word),
    ("dashboard_port", Where.INIT, checks.whole_number(0)),
    ("job_config", Where.INIT, checks.job_config),
    ("configure_logging", Where.INIT, checks.switch),
    ("logging_level", Where.INIT, checks.logging_level),
    ("logging_format", Where.INIT, checks.word),
    ("logging_config", Where.INIT, checks.logging_config),
    ("log_to_driver", Where.INIT, lambda name, value: value is None or checks.switch(name, value)),
    ("engine", Where.INIT, checks.one_of("local", "ray", "debug")),
    ("preload", Where.INIT, checks.words),
    ("gpu_vendor", Where.INIT, checks.nonempty_word),
    ("simulate", Where.INIT, checks.nonempty_word),
    ("hide_unassigned", Where.INIT, checks.switch),
    ("on_interrupt", Where.INIT, checks.one_of("cancel", "detach", "force")),
    ("infeasible", Where.INIT, checks.one_of("warn", "raise", none="warn")),
    ("leak_threshold", Where.INIT, checks.size_bytes),
    ("node_types", Where.INIT, node_types),
    ("notify", Where.INIT, checks.command),
    ("notify_after_s", Where.INIT, checks.seconds),
    ("_code_search_path", Where.INIT, checks.words),  # of a JobConfig
    ("shared", Where.INIT, checks.switch),
)

# Keywords of Ray's init that only its own cluster can act on: kept, and handed to the Ray engine.
PASSED_ON = (
    "enable_resource_isolation", "cgroup_path", "system_reserved_cpu", "system_reserved_memory", "proxy_server_url",
    "_enable_object_reconstruction", "_plasma_directory", "_object_spilling_directory", "_node_ip_address",
    "_driver_object_store_memory", "_redis_username", "_redis_password", "_temp_dir",
    "_metrics_export_port", "_system_config", "_tracing_startup_hook", "_node_name", "_skip_env_hook",
)  # fmt: skip

_NAMES_OF_PLACES = {
    Where.TASK: "remote functions",
    Where.TASK_OPTIONS: "remote functions",
    Where.ACTOR: "actors",
    Where.ACTOR_OPTIONS: "actors",
    Where.METHOD: "@method",
    Where.METHOD_OPTIONS: "the .options() of a method",
    Where.CHOICE: "a choice in fallback=[...]",
    Where.INIT: "init()",
}
_LEGAL: dict[Where, dict[str, Check]] = {
    place: {name: check for name, where, check in OPTIONS if place in where} for place in Where
}
_DECORATOR_OF = {Where.TASK_OPTIONS: Where.TASK, Where.ACTOR_OPTIONS: Where.ACTOR}


def _checked(place: Where, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the given options and return them by field name. Raises for an option that is not legal in this place."""
    legal = _LEGAL[place]
    for name in given:
        if name not in legal:
            raise _illegal(place, name)
    return {name.removeprefix("_"): legal[name](name, value) for name, value in given.items()}


def _illegal(place: Where, name: str) -> Exception:
    if name in _LEGAL.get(_DECORATOR_OF.get(place, place), ()):
        return ValueError(f"Setting '{name}' is not supported in '.options()': give it to @remote(...) instead.")
    legal = _LEGAL[place]
    message = (
        f"Invalid option keyword {name} for {_NAMES_OF_PLACES[place]}.{did_you_mean(name, legal)} "
        f"Valid ones are {[legal_name for legal_name in legal if not legal_name.startswith('_')]}."
    )
    # Ray's own types: an assertion for the decorator, a call with a wrong keyword for a method's options.
    kinds: dict[Where, type[Exception]] = {Where.METHOD: AssertionError, Where.METHOD_OPTIONS: TypeError}
    return kinds.get(place, ValueError)(message)


class ResourceOptions(Struct, frozen=True, kw_only=True):
    """The options that tasks and actors share: quantities, devices, placement, and fallbacks."""

    num_cpus: float | None = None
    num_gpus: float | None = None
    resources: dict[str, float] = {}
    memory: float | None = None
    accelerator_type: str | None = None
    gpu_memory: int | None = None  # bytes of one device
    label_selector: dict[str, str] = {}
    fallback_strategy: tuple[dict[str, Any], ...] = ()
    scheduling_strategy: Any = None
    placement_group: Any = "default"
    placement_group_bundle_index: int = -1
    placement_group_capture_child_tasks: bool | None = None
    runtime_env: dict[str, Any] | None = None
    enable_task_events: bool = True
    labels: dict[str, str] = {}
    fallback: tuple[dict[str, Any], ...] | str | None = None
    fallback_after_s: float | None = None
    fallback_on: tuple[type[BaseException], ...] = ()
    hide_unassigned: bool | None = None  # None: as init() says
    internal: bool = False  # no keyword: set by internal_work alone

    def __post_init__(self) -> None:
        if self.placement_group not in (None, "default") and self.scheduling_strategy is not None:
            raise ValueError("placement_group and scheduling_strategy both say where to run: give only one of them.")
        if self.placement_group in (None, "default") and self.placement_group_bundle_index != -1:
            raise ValueError(
                f"placement_group_bundle_index={self.placement_group_bundle_index} names a bundle, but no "
                "placement_group is given: without one the index must be -1."
            )

    def facts(self) -> dict[str, Any]:
        """What every engine keeps of these options for views, as fields of `TaskFacts`."""
        return {"internal": self.internal}

    def asks_accelerator(self) -> bool:
        """Whether these options ask for a device of any family, by num_gpus, gpu_memory or a name in resources."""
        return bool(self.num_gpus or self.gpu_memory or any(self.resources.get(name) for name in ACCELERATORS))

    def fallbacks(self) -> tuple[Self, ...]:
        """The options of each fallback choice, in order: these options with the devices of the choice."""
        choices = ({},) if self.fallback == "cpu" else self.fallback
        return tuple(self._with_choice(choice) for choice in choices or ())  # type: ignore[arg-type]

    def _with_choice(self, choice: Mapping[str, Any]) -> Self:
        plain = {name: amount for name, amount in self.resources.items() if name not in ACCELERATORS}
        selector = {key: value for key, value in self.label_selector.items() if key != _TYPE_LABEL}
        without_devices: dict[str, Any] = {
            "num_gpus": None, "resources": plain, "accelerator_type": None, "gpu_memory": None,
            "label_selector": selector, "fallback": None, "fallback_after_s": None, "fallback_on": (),
        }  # fmt: skip
        return replace(self, **(without_devices | dict(choice)))


class TaskOptions(ResourceOptions, frozen=True, kw_only=True):
    """The options of a remote function."""

    name: str | None = None
    num_returns: int | str | None = None  # None: 1, or "streaming" for a generator function
    max_calls: int | None = None  # None: see calls_of_a_worker
    max_retries: int = 3  # when the worker dies; -1 without end
    retry_exceptions: bool | tuple[type[BaseException], ...] = False
    generator_backpressure_num_objects: int | None = None
    num_objects_per_yield: int | None = None

    def merged(self, **given: Any) -> "TaskOptions":
        """These options with those of `.options(...)` in place."""
        return _with_fallback(replace(self, **_checked(Where.TASK_OPTIONS, given)), given)

    def calls_of_a_worker(self) -> int:
        """How many calls a worker runs before it is replaced; 0 means no limit.

        One if the task asks for a device: only the end of a process surely frees device memory.
        """
        if self.max_calls is not None:
            return self.max_calls
        return 1 if self.asks_accelerator() else 0


class ActorOptions(ResourceOptions, frozen=True, kw_only=True):
    """The options of an actor class."""

    name: str | None = None
    namespace: str | None = None
    lifetime: str | None = None
    get_if_exists: bool = False
    max_restarts: int = 0
    max_task_retries: int = 0
    max_pending_calls: int = -1
    max_concurrency: int | None = None  # None: 1, or 1000 for an asyncio actor
    concurrency_groups: dict[str, int] = {}
    allow_out_of_order_execution: bool | None = None
    enable_tensor_transport: bool | None = None
    actor_generator_backpressure_num_objects: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.get_if_exists and self.name is None:
            raise ValueError(
                "The actor name must be specified to use `get_if_exists`: without one there is nothing to look for."
            )

    def merged(self, **given: Any) -> "ActorOptions":
        """These options with those of `.options(...)` in place."""
        return _with_fallback(replace(self, **_checked(Where.ACTOR_OPTIONS, given)), given)

    def detached(self) -> bool:
        return self.lifetime == "detached"


class MethodOptions(Struct, frozen=True, kw_only=True):
    """The options of one method of an actor. None: use the actor's option."""

    name: str | None = None
    num_returns: int | str | None = None
    concurrency_group: str | None = None
    max_task_retries: int | None = None
    retry_exceptions: bool | tuple[type[BaseException], ...] | None = None
    enable_task_events: bool = True
    generator_backpressure_num_objects: int | None = None
    tensor_transport: str | None = None

    def merged(self, **given: Any) -> "MethodOptions":
        """These options with those of `.options(...)` in place."""
        return replace(self, **_checked(Where.METHOD_OPTIONS, given))


class InitOptions(Struct, frozen=True, kw_only=True):
    """The keywords of init()."""

    address: str | None = None
    token_file: str | None = None  # of a Ray cluster
    num_cpus: int | None = None
    num_gpus: int | None = None
    resources: dict[str, float] = {}
    labels: dict[str, str] = {}
    object_store_memory: int | None = None
    memory: int | None = None  # bytes that tasks may ask for with memory=
    ignore_reinit_error: bool = False
    include_dashboard: bool | None = None
    dashboard_host: str | None = None
    dashboard_port: int | None = None
    job_config: Any = None
    configure_logging: bool = True
    logging_level: Any = "info"
    logging_format: str | None = None
    logging_config: Any = None
    log_to_driver: bool = True
    namespace: str | None = None
    runtime_env: dict[str, Any] | None = None
    engine: str | None = None  # None: local, unless the address is Ray's
    preload: tuple[str, ...] = ()
    gpu_vendor: str | None = None
    simulate: str | None = None
    hide_unassigned: bool = False
    on_interrupt: str | None = None  # None: cancel in IPython, detach in scripts
    infeasible: str = "warn"
    leak_threshold: int | None = None  # bytes
    node_types: dict[str, dict[str, Any]] | None = None  # virtual nodes that may come and go
    notify: tuple[str, ...] = ()  # a web address, or the words of a command
    notify_after_s: float | None = None
    shared: bool = False
    code_search_path: tuple[str, ...] = ()
    passed_on: dict[str, Any] = {}  # Ray's own keywords, see PASSED_ON

    def __post_init__(self) -> None:
        if self.address not in (None, "local") and (self.num_cpus is not None or self.num_gpus is not None):
            raise ValueError(
                f"init(address={self.address!r}) joins a head that runs already, so num_cpus and num_gpus must not be "
                "given: they are set where the head is started (nbaccel start --head --num-gpus=2)."
            )
        if self.node_types and self.address not in (None, "local"):
            raise ValueError(
                f"init(address={self.address!r}) joins a head that runs already, so node_types must not be given: they "
                "are set where the head is started (nbaccel start --head --node-types machines.toml)."
            )
        if self.node_types and self.engine not in (None, "local"):
            raise ValueError(
                f"init(engine={self.engine!r}) takes no node_types: they are virtual nodes of the local engine. A Ray "
                "cluster gets its node types from its own autoscaler's configuration."
            )


def _with_fallback(options: Given, given: Mapping[str, Any]) -> Given:
    """Add the CPU as the fallback if the options say when to fall back but not to what."""
    says_when = given.get("fallback_on") or given.get("fallback_after_s") is not None
    return falling_back(options) if says_when and "fallback" not in given else options


def falling_back(options: Given) -> Given:
    """These options with the CPU as the fallback, if they name none."""
    return replace(options, fallback="cpu") if options.fallback is None else options


def task_options(**given: Any) -> TaskOptions:
    """The options of `@remote(...)` on a function, checked."""
    return _with_fallback(TaskOptions(**_checked(Where.TASK, given)), given)


def actor_options(**given: Any) -> ActorOptions:
    """The options of `@remote(...)` on a class, checked."""
    return _with_fallback(ActorOptions(**_checked(Where.ACTOR, given)), given)


def method_options(**given: Any) -> MethodOptions:
    """The options of `@method(...)`, checked."""
    return MethodOptions(**_checked(Where.METHOD, given))


def as_given(options: ResourceOptions) -> dict[str, Any]:
    """The options that differ from the defaults, under the names that `@remote(...)` takes."""
    defaults = type(options)()
    given = {name: value for name, value in asdict(options).items() if value != getattr(defaults, name)}
    return {_OPTION_OF_FIELD.get(name, name): value for name, value in given.items()}


_OPTION_OF_FIELD = {name.removeprefix("_"): name for name, _, _ in OPTIONS if name.startswith("_")}


def init_options(**given: Any) -> InitOptions:
    """The keywords of `init(...)`, checked. As in Ray, an unknown keyword raises RuntimeError."""
    if given.pop("local_mode", False):
        raise RuntimeError(
            "init(local_mode=True) is no longer supported by Ray. Use init(engine='debug'): it runs every task in this "
            "process, in order, so that breakpoints work."
        )
    passed_on = {name: given.pop(name) for name in PASSED_ON if name in given}
    unknown = [name for name in given if name not in _LEGAL[Where.INIT]]
    if unknown:
        hint = did_you_mean(unknown[0], _LEGAL[Where.INIT])
        raise RuntimeError(f"Unknown keyword argument(s): {', '.join(unknown)}.{hint}")
    return InitOptions(**_checked(Where.INIT, given), passed_on=passed_on)


# --- what the scheduler is asked for -----------------------------------------------------------------------------


def demand_of_task(options: ResourceOptions) -> Demand:
    """The resources that a task holds while it runs, in 1/10_000: one CPU by default. Zero quantities are left out.

    >>> demand_of_task(task_options(num_gpus=0.5, accelerator_type="A100"))
    {'CPU': 10000, 'GPU': 5000, 'accelerator_type:A100': 10}
    """
    return _demand(options, 1 if options.num_cpus is None else options.num_cpus)


def demand_of_actor(options: ActorOptions) -> tuple[Demand, Demand]:
    """The resources that an actor needs to be placed, and those that it then holds for life.

    An actor without options needs one CPU to be placed and then holds none. An actor that names any resource but memory
    holds one CPU for life, unless num_cpus gives another number.
    """
    if options.num_cpus is not None:
        held = _demand(options, options.num_cpus)
        return held, held
    if _names_a_resource(options):
        held = _demand(options, 1)
        return held, held
    return _demand(options, 1), _demand(options, 0)


def _names_a_resource(options: ResourceOptions) -> bool:
    named = options.num_gpus is not None or options.accelerator_type or options.gpu_memory
    return bool(named or options.resources)


def _demand(options: ResourceOptions, num_cpus: float) -> Demand:
    quantities = {
        "CPU": num_cpus,
        "GPU": options.num_gpus or 0,
        **options.resources,
        "memory": int(options.memory or 0),
    }
    demand = {name: to_units(quantity) for name, quantity in quantities.items() if quantity}
    if options.accelerator_type:
        demand[TYPE_PREFIX + options.accelerator_type] = TYPE_SHARE
    return demand


def check_demand_quantities(demand: Mapping[str, int], refusal: Callable[[str, float], str | None]) -> None:
    """Raises the ValueError of `.remote()` if a family does not give out its devices in such a quantity.

    `refusal(resource, quantity)` returns the sentence that says why not, or None. The families provide it.
    """
    for resource, units in demand.items():
        sentence = refusal(resource, units // UNIT if units % UNIT == 0 else units / UNIT)
        if sentence is not None:
            raise ValueError(sentence)

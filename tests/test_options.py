"""What each option may be and where, and the demands that follow."""

import math
import pickle

import pytest

from nbaccel.handles import options
from nbaccel.handles.options import (
    actor_options,
    check_demand_quantities,
    demand_of_actor,
    demand_of_task,
    init_options,
    method_options,
    task_options,
)
from nbaccel.handles.placement_group_handle import PlacementGroup


class NodeAffinitySchedulingStrategy:
    """By its name, one of the strategies that users import from nbaccel.util.scheduling_strategies."""


# --- names -------------------------------------------------------------------------------------------------------


def test_an_unknown_option_is_refused_with_the_likely_name_and_the_valid_ones():
    with pytest.raises(
        ValueError, match=r"Invalid option keyword num_gpu for remote functions. Did you mean num_gpus\?"
    ):
        task_options(num_gpu=1)
    with pytest.raises(ValueError, match=r"Invalid option keyword foo for actors. Valid ones are \['num_cpus'"):
        actor_options(foo=1)


def test_an_option_of_the_other_kind_is_refused():
    for name in ("lifetime", "max_restarts", "namespace", "get_if_exists", "max_concurrency"):
        with pytest.raises(ValueError, match=f"keyword {name} for remote functions"):
            task_options(**{name: None})
    for name in ("max_calls", "max_retries", "num_returns", "retry_exceptions"):
        with pytest.raises(ValueError, match=f"keyword {name} for actors"):
            actor_options(**{name: None})


def test_what_only_the_decorator_may_say_is_refused_in_options():
    with pytest.raises(ValueError, match=r"'max_calls' is not supported in '.options\(\)'"):
        task_options().merged(max_calls=1)
    with pytest.raises(ValueError, match=r"'concurrency_groups' is not supported in '.options\(\)'"):
        actor_options().merged(concurrency_groups={"io": 1})


def test_unknown_keywords_of_methods_have_the_types_that_ray_gives_them():
    with pytest.raises(AssertionError, match=r"keyword num_return for @method\. Did you mean num_returns"):
        method_options(num_return=2)
    with pytest.raises(TypeError, match="keyword foo"):
        method_options().merged(foo=2)


def test_every_row_of_the_table_has_a_field_in_the_record_of_its_place():
    records = {
        options.TASKS: options.TaskOptions,
        options.ACTORS: options.ActorOptions,
        options.METHODS: options.MethodOptions,
        options.Where.INIT: options.InitOptions,
    }
    for name, where, _ in options.OPTIONS:
        for places, record in records.items():
            if where & places:
                fields = set(record.__struct_fields__)
                assert name.removeprefix("_") in fields, (name, record)


# --- values --------------------------------------------------------------------------------------------------------

WRONG_TYPES = [
    ("num_cpus", "1"), ("num_gpus", [1]), ("memory", "1"), ("resources", [1]), ("resources", {"a": "x"}),
    ("resources", {"a": None}), ("resources", {1: 1}), ("accelerator_type", 1), ("label_selector", [1]),
    ("label_selector", {"a": 1}), ("fallback_strategy", {"a": 1}), ("name", 1), ("scheduling_strategy", 1),
    ("runtime_env", "x"), ("runtime_env", {"env_vars": {"a": 1}}), ("runtime_env", {"env_vars": ["a"]}),
    ("runtime_env", {"working_dir": 1}), ("runtime_env", {"pip": 1}), ("runtime_env", {"py_modules": "x"}),
    ("enable_task_events", 1), ("placement_group_bundle_index", "a"), ("fallback", 1), ("fallback", "gpu"),
    ("fallback_after_s", "soon"), ("gpu_memory", [1]), ("hide_unassigned", 1),
]  # fmt: skip

WRONG_VALUES = [
    ("num_cpus", -1), ("num_gpus", -0.5), ("num_gpus", 0.00001), ("num_gpus", math.nan), ("num_cpus", math.inf),
    ("memory", -1), ("resources", {"a": -1}), ("resources", {"a": 0.00001}), ("resources", {"CPU": 1}),
    ("resources", {"GPU": 1}), ("resources", {"memory": 1}), ("label_selector", {"a": "in("}),
    ("fallback_strategy", [{"num_cpus": 1}]), ("scheduling_strategy", "FOO"), ("runtime_env", {"env_var": {}}),
    ("runtime_env", {"pip": ["a"], "conda": "x"}), ("runtime_env", {"working_dir": "/no/such/place"}),
    ("fallback", [{"max_retries": 1}]), ("fallback_after_s", -1), ("fallback_on", [1]),
    ("gpu_memory", "many"), ("gpu_memory", -1),
]  # fmt: skip

TASK_WRONG_TYPES = [
    ("num_returns", 1.5), ("max_calls", 1.0), ("max_retries", "2"), ("retry_exceptions", 1),
    ("retry_exceptions", ValueError), ("retry_exceptions", None),
]  # fmt: skip
TASK_WRONG_VALUES = [
    ("num_returns", 10**12),
    ("num_returns", -1), ("num_returns", "many"), ("max_calls", -1), ("max_retries", -2), ("retry_exceptions", [1]),
    ("_generator_backpressure_num_objects", 0), ("_num_objects_per_yield", 0),
]  # fmt: skip
ACTOR_WRONG_TYPES = [
    ("max_restarts", 1.0), ("max_task_retries", "1"), ("max_concurrency", 1.5), ("concurrency_groups", "x"),
    ("namespace", 1), ("get_if_exists", 1), ("allow_out_of_order_execution", 1),
]  # fmt: skip
ACTOR_WRONG_VALUES = [
    ("max_restarts", -2), ("max_task_retries", -2), ("max_pending_calls", -2), ("max_concurrency", 0), ("name", ""),
    ("namespace", ""), ("lifetime", "forever"), ("concurrency_groups", {"io": 0}), ("get_if_exists", True),
]  # fmt: skip


@pytest.mark.parametrize("make", [task_options, actor_options])
@pytest.mark.parametrize(("name", "value"), WRONG_TYPES)
def test_a_wrong_type_is_a_type_error_that_names_the_option(make, name, value):
    with pytest.raises(TypeError, match=name):
        make(**{name: value})


@pytest.mark.parametrize("make", [task_options, actor_options])
@pytest.mark.parametrize(("name", "value"), WRONG_VALUES)
def test_a_wrong_value_is_a_value_error(make, name, value):
    with pytest.raises(ValueError):
        make(**{name: value})


@pytest.mark.parametrize(("name", "value"), TASK_WRONG_TYPES)
def test_a_wrong_type_of_a_task_option_is_a_type_error(name, value):
    with pytest.raises(TypeError, match=name):
        task_options(**{name: value})


@pytest.mark.parametrize(("name", "value"), TASK_WRONG_VALUES)
def test_a_wrong_value_of_a_task_option_is_a_value_error(name, value):
    with pytest.raises(ValueError, match=name):
        task_options(**{name: value})


@pytest.mark.parametrize(("name", "value"), ACTOR_WRONG_TYPES)
def test_a_wrong_type_of_an_actor_option_is_a_type_error(name, value):
    with pytest.raises(TypeError, match=name):
        actor_options(**{name: value})


@pytest.mark.parametrize(("name", "value"), ACTOR_WRONG_VALUES)
def test_a_wrong_value_of_an_actor_option_is_a_value_error(name, value):
    with pytest.raises(ValueError, match=name):
        actor_options(**{name: value})


@pytest.mark.parametrize("given", [{"memory": 2**60}, {"num_cpus": 1e15}, {"resources": {"shelf": 1e15}}])
def test_a_quantity_beyond_counting_is_refused(given):
    with pytest.raises(ValueError, match="cannot be more than 100,000,000,000,000"):
        task_options(**given)


def test_messages_about_quantities_say_what_ray_says():
    with pytest.raises(ValueError, match="resource num_gpus cannot be negative"):
        task_options(num_gpus=-1)
    with pytest.raises(ValueError, match=r"resource num_gpus cannot go beyond 0\.0001"):
        task_options(num_gpus=0.00009)
    with pytest.raises(ValueError, match="num_gpus=2"):
        task_options(resources={"GPU": 2})


def test_placement_group_and_scheduling_strategy_exclude_each_other():
    with pytest.raises(ValueError, match="only one"):
        task_options(placement_group=PlacementGroup.empty(), scheduling_strategy="SPREAD")


def test_legal_values_are_kept_in_one_form():
    made = task_options(
        retry_exceptions=[ValueError], num_returns="streaming", gpu_memory="10GiB", fallback_on=MemoryError,
        label_selector={"zone": "!in(a, b)", "type": "H100"}, runtime_env={"env_vars": {"A": "1"}, "pip": ["x"]},
        scheduling_strategy=NodeAffinitySchedulingStrategy(), _labels={"team": "x"},
        _generator_backpressure_num_objects=-1,
    )  # fmt: skip
    assert made.retry_exceptions == (ValueError,)
    assert made.gpu_memory == 10 * 2**30
    assert made.fallback_on == (MemoryError,)
    assert made.labels == {"team": "x"}
    assert made.generator_backpressure_num_objects is None
    assert actor_options(concurrency_groups=[{"name": "io", "max_concurrency": 2}]).concurrency_groups == {"io": 2}


def test_none_means_the_default():
    made = task_options(max_retries=None, num_cpus=None, resources=None, num_returns=None, max_calls=None)
    assert (made.max_retries, made.resources, made) == (3, {}, task_options())
    assert actor_options(max_restarts=None, lifetime=None) == actor_options()


def test_records_are_frozen_and_travel():
    made = task_options(num_gpus=1, retry_exceptions=[KeyError])
    with pytest.raises(AttributeError):
        made.num_gpus = 2
    assert pickle.loads(pickle.dumps(made)) == made


def test_options_replaces_only_what_it_names():
    made = task_options(num_gpus=1, max_retries=0, name="a").merged(num_cpus=2, name="b")
    assert (made.num_gpus, made.num_cpus, made.max_retries, made.name) == (1, 2, 0, "b")
    assert actor_options(name="a").merged(get_if_exists=True).get_if_exists
    assert method_options(num_returns=2).merged(name="load").num_returns == 2


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("10GiB", 10 * 2**30),
        ("10g", 10 * 2**30),
        ("10GB", 10**10),
        ("1.5 MiB", 3 * 2**19),
        ("7", 7),
        (5, 5),
        (1e9, 10**9),
    ],
)
def test_sizes_are_understood_as_bytes_or_as_words(words, size):
    assert task_options(gpu_memory=words).gpu_memory == size


# --- demands ---------------------------------------------------------------------------------------------------------


def test_a_task_takes_one_cpu_unless_it_says_otherwise():
    assert demand_of_task(task_options()) == {"CPU": 10_000}
    assert demand_of_task(task_options(num_gpus=1)) == {"CPU": 10_000, "GPU": 10_000}
    assert demand_of_task(task_options(num_cpus=0)) == {}


@pytest.mark.parametrize(
    ("quantity", "units"), [(0.57, 5700), (0.29, 2900), (0.0001, 1), (1 / 3, 3333), (0.00019, 1), (2.5, 25_000)]
)
def test_quantities_are_cut_to_ten_thousandths_as_decimals(quantity, units):
    assert demand_of_task(task_options(num_cpus=quantity)) == {"CPU": units}


def test_memory_custom_names_and_types_are_part_of_the_demand():
    made = task_options(num_cpus=0, resources={"neuron_cores": 2, "none": 0}, memory=100, accelerator_type="A100")
    assert demand_of_task(made) == {"neuron_cores": 20_000, "memory": 1_000_000, "accelerator_type:A100": 10}


def test_a_part_of_a_byte_is_cut_off_as_in_ray():
    assert demand_of_task(task_options(num_cpus=0, memory=2.9)) == {"memory": 20_000}
    assert demand_of_task(task_options(num_cpus=0, memory=0.5)) == {}


def test_an_actor_needs_a_cpu_to_be_placed_and_holds_none():
    assert demand_of_actor(actor_options()) == ({"CPU": 10_000}, {})
    placed, held = demand_of_actor(actor_options(memory=5))
    assert (placed, held) == ({"CPU": 10_000, "memory": 50_000}, {"memory": 50_000})


@pytest.mark.parametrize(
    "asked", [{"num_gpus": 1}, {"resources": {"x": 1}}, {"accelerator_type": "A100"}, {"gpu_memory": 1}]
)
def test_an_actor_that_names_a_resource_holds_a_cpu_for_life(asked):
    placed, held = demand_of_actor(actor_options(**asked))
    assert placed == held
    assert held["CPU"] == 10_000


def test_an_actors_own_num_cpus_wins():
    assert demand_of_actor(actor_options(num_cpus=0)) == ({}, {})
    assert demand_of_actor(actor_options(num_cpus=2, num_gpus=1))[1] == {"CPU": 20_000, "GPU": 10_000}


@pytest.mark.parametrize(
    ("asked", "calls"),
    [({}, 0), ({"num_gpus": 0.5}, 1), ({"num_gpus": 0}, 0), ({"resources": {"TPU": 4}}, 1),
     ({"resources": {"x": 4}}, 0),
     ({"resources": {"neuron_cores": 1}}, 1), ({"gpu_memory": "1GiB"}, 1), ({"num_gpus": 1, "max_calls": 0}, 0),
     ({"max_calls": 7}, 7)],
)  # fmt: skip
def test_a_worker_runs_one_task_if_it_holds_a_device_unless_told_otherwise(asked, calls):
    assert task_options(**asked).calls_of_a_worker() == calls


def test_what_options_ask_counts_for_the_workers_calls_too():
    assert task_options().merged(num_gpus=1).calls_of_a_worker() == 1
    assert task_options(num_gpus=1).merged(num_gpus=0).calls_of_a_worker() == 0


def test_the_families_judge_a_quantity_when_the_task_is_submitted():
    def refusal(resource, quantity):
        return f"{resource} {quantity} is not whole" if resource == "GPU" and quantity > 1 and quantity % 1 else None

    check_demand_quantities(demand_of_task(task_options(num_cpus=1.5, num_gpus=0.5)), refusal)
    check_demand_quantities(demand_of_task(task_options(num_gpus=2)), refusal)
    with pytest.raises(ValueError, match=r"GPU 1\.5 is not whole"):
        check_demand_quantities(demand_of_task(task_options(num_gpus=1.5)), refusal)


# --- fallbacks -------------------------------------------------------------------------------------------------------


def test_the_fallback_cpu_is_the_same_task_without_any_device():
    made = task_options(
        num_gpus=1, num_cpus=2, gpu_memory="1GiB", accelerator_type="A100", resources={"TPU": 1, "x": 1},
        label_selector={"ray.io/accelerator-type": "A100", "zone": "a"}, fallback="cpu", max_retries=1,
    )  # fmt: skip
    (cpu,) = made.fallbacks()
    assert demand_of_task(cpu) == {"CPU": 20_000, "x": 10_000}
    assert (cpu.gpu_memory, cpu.label_selector, cpu.max_retries) == (None, {"zone": "a"}, 1)
    assert not cpu.asks_accelerator()


def test_a_list_of_fallbacks_is_tried_in_its_order():
    made = task_options(num_gpus=1, fallback=[{"resources": {"NPU": 1}}, {"num_cpus": 4}])
    assert [demand_of_task(choice) for choice in made.fallbacks()] == [{"CPU": 10_000, "NPU": 10_000}, {"CPU": 40_000}]
    assert task_options(num_gpus=1).fallbacks() == ()


def test_actors_fall_back_too():
    (cpu,) = actor_options(num_gpus=1, fallback="cpu", name="a").fallbacks()
    assert demand_of_actor(cpu) == ({"CPU": 10_000}, {})
    assert cpu.name == "a"


# --- init -----------------------------------------------------------------------------------------------------------


def test_unknown_keywords_of_init_are_a_runtime_error_with_the_likely_name():
    with pytest.raises(RuntimeError, match=r"Unknown keyword argument\(s\): num_gpu, foo\. Did you mean num_gpus"):
        init_options(num_gpu=1, foo=2)
    with pytest.raises(RuntimeError, match="_foo"):
        init_options(_foo=2)


def test_local_mode_points_to_the_debug_engine():
    with pytest.raises(RuntimeError, match="engine='debug'"):
        init_options(local_mode=True)
    assert init_options(local_mode=False) == init_options()


def test_keywords_that_only_ray_can_act_on_are_passed_on():
    made = init_options(_temp_dir="/tmp/x", _system_config={"a": 1}, include_dashboard=False, dashboard_port=8265)
    assert made.passed_on == {"_temp_dir": "/tmp/x", "_system_config": {"a": 1}}
    assert made.dashboard_port == 8265


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("num_cpus", -1, ValueError), ("num_cpus", 1.5, ValueError), ("num_gpus", 0.5, ValueError),
        ("num_cpus", "2", TypeError), ("resources", {"CPU": 1}, ValueError), ("resources", {"a": 0.5}, ValueError),
        ("namespace", "", ValueError), ("namespace", 1, TypeError), ("labels", {"a": 1}, TypeError),
        ("engine", "dask", ValueError), ("preload", "numpy", TypeError), ("on_interrupt", "stop", ValueError),
        ("infeasible", "ignore", ValueError), ("object_store_memory", "lots", ValueError), ("address", 3, TypeError),
        ("shared", 1, TypeError), ("leak_threshold", -1, ValueError), ("runtime_env", "x", TypeError),
    ],
)  # fmt: skip
def test_wrong_values_of_init_are_refused(name, value, error):
    with pytest.raises(error, match=name):
        init_options(**{name: value})


def test_quantities_are_for_the_one_who_starts_a_head_not_for_who_joins_it():
    with pytest.raises(ValueError, match="num_gpus must not be given"):
        init_options(address="auto", num_gpus=1)
    assert init_options(address="local", num_gpus=1).num_gpus == 1


def test_the_defaults_of_init_are_those_of_ray_and_of_the_docs():
    made = init_options(log_to_driver=None, infeasible=None)
    assert (made.log_to_driver, made.infeasible, made.engine, made.hide_unassigned) == (True, "warn", None, False)


@pytest.mark.parametrize("when", [{"fallback_on": ValueError}, {"fallback_after_s": 0}])
def test_who_says_when_to_fall_back_and_not_where_to_means_the_cpu(when):
    assert task_options(**when).fallback == "cpu"
    assert task_options().merged(**when).fallback == "cpu"
    assert actor_options(**when).fallback == "cpu"
    assert task_options(**when).merged(fallback=None).fallback is None
    assert task_options(fallback=[{"num_cpus": 2}], **when).fallback == ({"num_cpus": 2},)


@pytest.mark.parametrize("key", ["", "zone b", "-zone", "team/", "/zone"])
def test_a_label_that_nothing_can_have_is_refused(key):
    with pytest.raises(ValueError, match="Invalid label key name"):
        task_options(label_selector={key: "a"})


@pytest.mark.parametrize("key", ["zone", "ray.io/node-id", "a_b.c-d"])
def test_labels_may_have_prefixes(key):
    assert task_options(label_selector={key: "a"}).label_selector == {key: "a"}

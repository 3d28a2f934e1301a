"""Node types: nodes are asked for when work lacks them, and let go when nobody uses them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.events import DeviceSpec, GroupRequested, NodeTypeSpec
from nbaccel.scheduling.growth import REMEMBERED
from nbaccel.scheduling.terms import Placement
from tests.scheduling.world import World, choice, demand, node

ONE_GPU = choice(CPU=1, GPU=1)


def kind(name: str = "gpu", gpus: int = 1, most: int = 2, **options: object) -> NodeTypeSpec:
    cpus = options.pop("cpus", 4)
    assert isinstance(cpus, int)
    devices = [DeviceSpec("GPU", index, type="A100") for index in range(gpus)]
    return NodeTypeSpec(name, {"CPU": cpus * UNIT}, devices, max=most, **options)  # type: ignore[arg-type]


def grown(*kinds: NodeTypeSpec, cpus: int = 1) -> World:
    world = World(node("head", CPU=cpus))
    world.types(*kinds)
    return world


def asked(world: World) -> list[str]:
    return [ask.node_type for ask in world.asked]


def test_a_task_that_no_node_can_meet_asks_for_one_of_a_type_that_can():
    world = grown(kind())
    task = world.submit("train", ONE_GPU)
    world.time_passes(0.1)
    assert asked(world) == ["gpu"]
    assert world.warnings[-1].kind == "waiting" and "type gpu" in world.warnings[-1].message
    world.comes()
    world.ready()
    assert world.node_of(task) == "gpu-1" and asked(world) == []


def test_tasks_that_fit_one_node_together_ask_for_one():
    world = grown(kind(gpus=4))
    for _ in range(4):
        world.submit("train", ONE_GPU)
    world.time_passes(0.1)
    assert asked(world) == ["gpu"]
    world.submit("train", ONE_GPU)
    world.time_passes(0.1)
    assert asked(world) == ["gpu", "gpu"]


def test_no_more_nodes_are_asked_for_than_there_may_be():
    world = grown(kind(most=3))
    for _ in range(10):
        world.submit("train", ONE_GPU)
    world.time_passes(0.1)
    assert asked(world) == ["gpu"] * 3


def test_the_type_with_the_fewest_accelerators_and_cpus_is_taken():
    world = grown(kind("many", gpus=8), kind("large", gpus=1, cpus=64), kind("small", gpus=1, cpus=4))
    world.submit("train", ONE_GPU)
    world.time_passes(0.1)
    assert asked(world) == ["small"]


def test_work_without_accelerators_gets_a_node_with_some_only_if_nothing_else_could_meet_it():
    world = grown(kind(cpus=64))
    for _ in range(3):
        world.submit("f", choice(CPU=1))
    world.time_passes(0.1)
    assert asked(world) == []  # the head can meet it
    world.submit("g", choice(CPU=32))
    world.time_passes(0.1)
    assert asked(world) == ["gpu"]


def test_a_demand_that_no_type_can_meet_is_infeasible_and_the_types_are_named():
    world = grown(kind())
    world.submit("train", choice(GPU=4))
    world.time_passes(0.1)
    assert asked(world) == []
    assert world.warnings[-1].kind == "infeasible" and "gpu: 1 GPU" in world.warnings[-1].message


def test_infeasible_raise_waits_for_a_node_that_can_come_and_refuses_when_it_is_given_up():
    world = grown(kind())
    task = world.submit("train", ONE_GPU, refuse_infeasible=True)
    world.time_passes(0.1)
    for _ in range(3):
        assert task.task_id not in world.outcomes
        world.fails("no quota")
        world.time_passes(60)
    assert asked(world) == []
    assert world.outcomes[task.task_id] == "unschedulable" and "no quota" in world.messages[task.task_id]


def test_the_line_below_a_cell_does_not_promise_a_next_try_of_a_type_that_was_given_up():
    world = grown(kind())
    world.submit("train", ONE_GPU)
    world.time_passes(0.1)
    for _ in range(3):
        world.fails("no quota")
        world.time_passes(60)
    last = world.warnings[-1]
    assert last.kind == "infeasible" and "no more are asked for" in last.message and "next try" not in last.message
    world.request()  # it gets another chance
    world.time_passes(1)
    assert world.warnings[-1].kind == "waiting" and "no more are asked for" not in world.warnings[-1].message


def test_a_failed_arrival_is_tried_again_after_a_growing_pause():
    world = grown(kind())
    world.submit("train", ONE_GPU)
    world.time_passes(0.1)
    world.fails()
    assert asked(world) == []
    world.time_passes(1)
    assert asked(world) == ["gpu"]
    world.fails()
    world.time_passes(1)
    assert asked(world) == []
    world.time_passes(1)
    assert asked(world) == ["gpu"]
    world.comes()
    assert not world.scheduler.node_types()[0].failures


def test_a_fallback_is_taken_at_once_only_where_no_type_can_meet_the_first_choice():
    world = grown(kind())
    waits = world.submit("train", ONE_GPU, choice(CPU=1, label="cpu"))
    other = world.submit("infer", choice(GPU=9), choice(CPU=1, label="cpu"))
    world.time_passes(0.1)
    world.ready()
    assert world.is_sent(other) and not world.is_sent(waits) and asked(world) == ["gpu"]


def test_an_idle_node_leaves_after_its_time_and_min_stays():
    world = grown(kind(min=1, most=2, idle_s=60))
    assert asked(world) == ["gpu"]
    world.comes()
    world.submit("a", ONE_GPU)
    late = world.submit("b", ONE_GPU)
    world.time_passes(0.1)
    world.comes()
    world.ready()
    assert world.is_sent(late)
    for worker in list(world.workers.values()):
        if worker.queue:
            world.returns(worker.queue[0])
    for worker in list(world.stopping()):
        world.dies(worker, "ended")
    world.time_passes(59)
    assert world.released == []
    world.time_passes(2)
    assert len(world.released) == 1
    world.answer_releases()
    world.time_passes(1000)
    assert world.released == []


def test_a_node_that_keeps_something_stays_and_is_asked_again():
    world = grown(kind(idle_s=60))
    world.request((demand(GPU=1), 1))
    node_id = world.comes()
    world.request()
    world.keeps[node_id] = "1 object is only there"
    world.time_passes(61)
    assert world.released == [node_id]
    world.answer_releases()
    place = world.scheduler.node_place(node_id)
    assert place is not None and place.kept_by == "1 object is only there"
    task = world.submit("train", ONE_GPU)
    world.ready()
    assert world.is_sent(task)  # it gets work again
    world.returns(task)
    for worker in list(world.stopping()):
        world.dies(worker, "ended")
    del world.keeps[node_id]
    world.time_passes(61)
    world.answer_releases()
    assert world.scheduler.node_place(node_id) is None


def test_a_request_is_a_floor_that_counts_what_is_here_and_holds_its_nodes():
    world = grown(kind(idle_s=60))
    world.request((demand(GPU=1), 1))
    assert asked(world) == ["gpu"]
    node_id = world.comes()
    world.request((demand(GPU=1), 2))
    assert asked(world) == ["gpu"]
    world.comes()
    world.time_passes(1000)
    assert world.released == []
    assert world.scheduler.needed_for(node_id) == "request"
    world.request()
    assert world.scheduler.needed_for(node_id) == ""
    world.time_passes(61)
    assert len(world.released) == 2 and node_id in world.released


def test_a_request_that_nothing_can_meet_is_named():
    world = grown(kind())
    world.request((demand(GPU=1), 1), (demand(GPU=16), 1))
    assert asked(world) == ["gpu"]
    assert [each.demand for each in world.scheduler.infeasible_requests()] == [demand(GPU=16)]


def test_a_group_that_spreads_gets_a_node_for_each_bundle():
    world = grown(kind(gpus=2, most=3))
    world.notify(GroupRequested(b"g", "", [demand(GPU=1), demand(GPU=1)], "STRICT_SPREAD", 1))
    world.time_passes(0.1)
    assert asked(world) == ["gpu", "gpu"]
    world.comes()
    assert world.groups[b"g"] == "PENDING"
    world.comes()
    assert world.groups[b"g"] == "CREATED" and asked(world) == []


def test_a_group_that_must_lie_on_one_node_and_fits_none_asks_for_nothing():
    world = grown(kind(gpus=1, most=9))
    world.notify(GroupRequested(b"g", "", [demand(GPU=1), demand(GPU=1)], "STRICT_PACK", 1))
    world.time_passes(0.1)
    assert asked(world) == []
    assert world.warnings[-1].kind == "infeasible"


def test_labels_and_types_of_devices_are_judged_as_those_of_nodes():
    world = grown(kind("plain"), kind("b", labels={"zone": "b"}))
    world.submit("train", choice(Placement(labels=(("zone", "b"),)), GPU=1))
    world.submit("other", choice(Placement(labels=(("ray.io/accelerator-type", "H100"),)), GPU=1))
    world.time_passes(0.1)
    assert asked(world) == ["b"]


def test_nothing_wakes_the_scheduler_while_many_nodes_are_idle():
    world = grown(kind(min=50, most=50))
    while world.asked:
        world.comes()
    world.time_passes(1)
    assert world.wake_at is None


DEMANDS = st.sampled_from([choice(CPU=1), ONE_GPU, choice(GPU=0.5), choice(CPU=3), choice(GPU=2), choice(CPU=8, GPU=1)])
KINDS = st.lists(
    st.builds(lambda gpus, cpus, most, least: (gpus, cpus, most, min(least, most)),
              st.integers(0, 3), st.integers(1, 8), st.integers(1, 4), st.integers(0, 2)),
    min_size=1, max_size=3,
)  # fmt: skip
STEPS = st.lists(st.tuples(st.sampled_from(["submit", "come", "fail", "end", "wait", "request"]), DEMANDS), max_size=25)


@settings(max_examples=40, deadline=None)
@given(kinds=KINDS, steps=STEPS)
def test_never_above_max_nothing_that_is_held_leaves_and_what_fits_a_type_ends_placed(kinds, steps):
    specs = [
        kind(f"k{index}", gpus, most, cpus=cpus, min=least, idle_s=5)
        for index, (gpus, cpus, most, least) in enumerate(kinds)
    ]
    world = grown(*specs)
    tasks = []

    def look() -> None:
        for spec, record in zip(specs, world.scheduler.node_types(), strict=True):
            coming = sum(launch.node_type == spec.name for launch in world.scheduler.launches())
            assert len(record.here) + coming <= spec.max
        for node_id in world.released:
            place = world.scheduler.node_place(node_id)
            assert place is not None and not place.holds

    def end_all() -> None:
        world.ready()
        for worker in list(world.workers.values()):
            if worker.queue:
                world.returns(worker.queue[0])
        for worker in list(world.stopping()):
            world.dies(worker, "ended")

    for step, wanted in steps:
        if step == "submit":
            tasks.append(world.submit("f", wanted))
        elif step == "come" and world.asked:
            world.comes()
        elif step == "fail" and world.asked:
            world.fails()
        elif step == "end":
            end_all()
        elif step == "wait":
            world.time_passes(6)
        elif step == "request":
            world.request((wanted.demand, 2))
        look()
        world.answer_releases()
    world.request()  # types that were given up get another chance
    for _ in range(len(tasks) + 30):
        world.time_passes(3)
        look()
        world.answer_releases()
        while world.asked:
            world.comes()
        end_all()
    for task in tasks:
        feasible = world.scheduler.feasibility(task.terms.choices[0]).ever
        fits = feasible or any(_fits(spec, task.terms.choices[0].demand) for spec in specs)
        assert (world.outcomes.get(task.task_id) == "finished") == fits, task.terms.choices[0]


def _fits(spec: NodeTypeSpec, wanted: tuple[tuple[str, int], ...]) -> bool:
    amounts = dict(wanted)
    return amounts.get("CPU", 0) <= spec.totals["CPU"] and amounts.get("GPU", 0) <= len(spec.devices) * UNIT


def test_a_removed_node_of_a_type_is_replaced_where_min_asks_for_it():
    world = grown(kind(min=1))
    node_id = world.comes()
    world.notify(ev.NodeRemoved(node_id))
    world.time_passes(0.1)
    assert asked(world) == ["gpu"]


def test_a_forecast_counts_what_would_come_and_what_would_not_and_asks_for_nothing():
    world = grown(kind(most=3))
    world.submit("train", ONE_GPU)
    world.time_passes(0.1)
    assert asked(world) == ["gpu"]
    tpu, gpu = (("TPU", UNIT),), (("GPU", UNIT),)
    found = world.scheduler.growth_forecast([(gpu, (), 4), (tpu, (), 1)], world.now)
    assert found.asks == {"gpu": 2}  # the one that is on its way has the room for one of them
    assert [(each.demand, left) for each, left in found.short] == [(gpu, 1)]
    assert [each.demand for each in found.infeasible] == [tpu]
    world.time_passes(0.1)
    assert asked(world) == ["gpu"]


def test_work_that_waits_while_as_many_nodes_are_here_as_there_may_be_says_so_with_who_holds_them():
    world = grown(kind(most=2))
    running = [world.submit("first", ONE_GPU), world.submit("second", ONE_GPU)]
    world.time_passes(0.1)
    world.comes()
    world.comes()
    world.ready()
    assert all(world.is_sent(task) for task in running)
    third = world.submit("third", ONE_GPU)
    said = world.scheduler.explain(third.task_id, world.now).sentence
    assert said.endswith("2 of at most 2 gpu nodes are here.") and "first on GPU 0, second on GPU 0" in said
    assert "2 of at most 2 gpu nodes are here." in world.scheduler.explain_choice(ONE_GPU, world.now).sentence


def test_a_task_whose_node_dies_while_it_starts_runs_on_the_next_node_and_spends_no_retry():
    world = grown(kind())
    task = world.submit("train", ONE_GPU, retries_left=0)
    world.time_passes(0.1)
    elsewhere = {*world.workers}
    node_id = world.comes()
    (starting,) = [worker for id, worker in world.workers.items() if id not in elsewhere]
    assert not world.is_sent(task)
    world.notify(ev.NodeRemoved(node_id))
    world.dies(starting)
    world.time_passes(0.1)
    assert task.task_id not in world.outcomes and asked(world) == ["gpu"]
    world.comes()
    world.ready()
    assert world.node_of(task) == "gpu-2"


def test_the_usual_time_of_a_type_is_the_median_of_its_last_arrivals():
    world = grown(kind(most=1))
    world.request((demand(GPU=1), 1))
    assert world.scheduler.explain_choice(ONE_GPU, world.now).sentence.endswith("was asked for 0 s ago.")
    for took_s in (500, *range(10, 10 * REMEMBERED + 1, 10)):  # the first one is forgotten
        world.time_passes(took_s)
        world.notify(ev.NodeRemoved(world.comes()))
        world.time_passes(0.1)
    world.time_passes(7)
    sentence = world.scheduler.explain_choice(ONE_GPU, world.now).sentence
    assert sentence.endswith("was asked for 7 s ago (usually 50 s).")


def test_what_waits_for_a_node_of_one_type_is_told_which_other_type_has_room_now():
    cards = [DeviceSpec("GPU", 0, type="T4"), DeviceSpec("GPU", 1, type="L4")]
    world = World(node("head", cards, CPU=8))
    a100 = kind()
    a100.totals["accelerator_type:A100"] = UNIT
    world.types(a100)
    by_option = choice(GPU=1, CPU=1, **{"accelerator_type:A100": 0.001})
    by_label = choice(Placement(labels=(("ray.io/accelerator-type", "A100"),)), GPU=1, CPU=1)

    def said() -> list[str]:
        return [world.scheduler.explain_choice(each, world.now).sentence for each in (by_option, by_label)]

    assert all(each.endswith(" L4 and T4 have room for it now: accelerator_type='L4'.") for each in said())
    world.submit("infer", choice(Placement(labels=(("ray.io/accelerator-type", "L4"),)), GPU=1))
    world.ready()
    waits = world.submit("train", by_label)
    world.time_passes(0.1)
    sentence = world.scheduler.explain(waits.task_id, world.now).sentence
    assert "was asked for" in sentence and sentence.endswith(" T4 has room for it now: accelerator_type='T4'.")
    world.submit("infer", choice(GPU=1))
    world.ready()
    assert not any("has room" in each or "have room" in each for each in said())
    assert "room" not in world.scheduler.explain_choice(ONE_GPU, world.now).sentence, "it names no type"

"""Everything in this process, in order: breakpoints work, and what would wait for ever is told."""

import asyncio
import gc
import os
import sys
import weakref

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.debug_engine.engine import MOST_RAISED
from nbaccel.util.placement_group import placement_group, remove_placement_group
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy


@nbaccel.remote
def pid():
    return os.getpid()


@nbaccel.remote
def plus_one(x):
    return x + 1


@nbaccel.remote(num_gpus=1)
def ids():
    return nbaccel.get_gpu_ids(), os.environ.get("CUDA_VISIBLE_DEVICES")


@nbaccel.remote
class Counter:
    def __init__(self, start=0):
        self.n = start

    def add(self):
        self.n += 1
        return self.n

    def leave(self):
        nbaccel.actor.exit_actor()


@nbaccel.remote
class Door:
    def __init__(self):
        self.open_now = asyncio.Event()

    async def wait(self):
        await self.open_now.wait()
        return "through"

    async def open(self):
        self.open_now.set()

    async def count(self):
        for i in range(2):
            await asyncio.sleep(0)
            yield i


def test_tasks_run_in_this_process_when_they_are_submitted():
    done = []

    @nbaccel.remote
    def note(x):
        done_here.append(x)

    done_here = done
    note._function.__globals__["done_here"] = done
    refs = [note.remote(i) for i in range(3)]
    assert done == [0, 1, 2]
    assert nbaccel.get([*refs, pid.remote()]) == [None, None, None, os.getpid()]


def test_arguments_and_results_are_copies():
    given = [1]

    @nbaccel.remote
    def change(values):
        values.append(2)
        return values

    assert nbaccel.get(change.remote(given)) == [1, 2] and given == [1]


def test_a_debugger_finds_the_frame_that_raised():
    @nbaccel.remote
    def fails(x):
        found = x * 2
        raise ValueError(found)

    with pytest.raises(ValueError) as caught:
        nbaccel.get(fails.remote(4))
    assert isinstance(caught.value, exceptions.RayTaskError)
    innermost = caught.tb
    while innermost.tb_next is not None:
        innermost = innermost.tb_next
    assert innermost.tb_frame.f_code.co_name == "fails" and innermost.tb_frame.f_locals["found"] == 8


def test_devices_are_assigned_and_the_variable_is_given_back():
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    actor = Counter.options(num_gpus=1).remote()
    assert nbaccel.get(ids.remote()) == ([1], "1")
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == before
    del actor
    nbaccel.get(pid.remote())
    assert nbaccel.get(ids.remote()) == ([0], "0")


def test_nested_tasks_lend_their_cpu():
    @nbaccel.remote
    def deep(n):
        return 0 if n == 0 else 1 + nbaccel.get(deep.remote(n - 1))

    assert nbaccel.get(deep.remote(20)) == 20


def test_a_deadlock_is_told_and_not_waited_for():
    @nbaccel.remote(num_gpus=2)
    def takes_all():
        return nbaccel.get(ids.remote())

    with pytest.raises(exceptions.EngineError, match=r"wait without end.*takes_all"):
        nbaccel.get(takes_all.remote())
    with pytest.raises(exceptions.EngineError, match="50 GPUs"):
        nbaccel.get(ids.options(num_gpus=50).remote())
    with pytest.raises(exceptions.GetTimeoutError):
        nbaccel.get(ids.options(num_gpus=50).remote(), timeout=0)


def test_actors_keep_their_state_and_end():
    counter = Counter.options(name="it").remote(5)
    assert nbaccel.get([counter.add.remote(), counter.add.remote()]) == [6, 7]
    assert nbaccel.get(nbaccel.get_actor("it").add.remote()) == 8
    with pytest.raises(exceptions.ActorDiedError, match="exit_actor"):
        nbaccel.get(counter.leave.remote())
    with pytest.raises(ValueError, match="it"):
        nbaccel.get_actor("it")


def test_coroutines_wait_for_later_calls():
    door = Door.remote()
    waiting = door.wait.remote()
    assert nbaccel.wait([waiting], timeout=0) == ([], [waiting])
    nbaccel.get(door.open.remote())
    assert nbaccel.get(waiting) == "through"
    assert [nbaccel.get(ref) for ref in door.count.remote()] == [0, 1]
    with pytest.raises(exceptions.EngineError, match="wait without end"):
        nbaccel.get(Door.remote().wait.remote())


def test_it_works_inside_of_a_running_loop():
    async def cell():
        return await plus_one.remote(1), nbaccel.get(Door.remote().open.remote())

    assert asyncio.run(cell()) == (2, None)


def objects():
    from nbaccel.util.state import list_objects

    gc.collect()
    return {row.object_id for row in list_objects(limit=10_000)}


def test_nothing_is_kept_of_arguments_that_nobody_holds_any_more():
    @nbaccel.remote
    def first(refs, direct):
        return refs[0], direct

    before = objects()
    inside, direct = nbaccel.put([1]), nbaccel.put([2])
    result = first.remote([inside], direct)
    del inside, direct
    assert len(objects()) == len(before) + 2  # the result, and the object that it refers to
    ref, value = nbaccel.get(result)
    assert (nbaccel.get(ref), value) == ([1], [2])
    del ref, result
    assert objects() == before


def test_the_frames_of_old_errors_are_let_go_of():
    class Large:
        """Held by the frame that raises."""

    alive = weakref.WeakSet()

    @nbaccel.remote
    def fails():
        large = Large()
        alive.add(large)
        raise ValueError(str(large))

    for _ in range(MOST_RAISED + 3):
        with pytest.raises(ValueError):
            nbaccel.get(fails.remote())
    gc.collect()
    assert len(alive) == MOST_RAISED


def test_nothing_is_kept_of_a_stream_that_nobody_holds_any_more():
    @nbaccel.remote
    def count(most):
        yield from range(most)

    before = objects()
    assert [nbaccel.get(ref) for ref in count.remote(3)] == [0, 1, 2]
    stream = count.remote(3)
    assert nbaccel.get(next(stream)) == 0
    del stream
    assert objects() == before


def test_streams_run_as_far_as_they_are_read():
    made = []

    @nbaccel.remote
    def count():
        for i in range(3):
            made_here.append(i)  # noqa: F821 - a global that is set below
            yield i

    count._function.__globals__["made_here"] = made
    stream = count.remote()
    assert made == [] and nbaccel.get(next(stream)) == 0 and made == [0]
    assert [nbaccel.get(ref) for ref in stream] == [1, 2]


def test_retries_are_counted(tmp_path):
    @nbaccel.remote(max_retries=2, retry_exceptions=True)
    def third_time():
        with open(tmp_path / "runs", "a") as file:
            file.write("x")
        if len((tmp_path / "runs").read_text()) < 3:
            raise OSError("not yet")
        return "done"

    assert nbaccel.get(third_time.remote()) == "done"


def test_a_call_that_ends_its_process_ends_a_worker_only():
    @nbaccel.remote(max_retries=0)
    def leaves():
        sys.exit(3)

    with pytest.raises(exceptions.WorkerCrashedError, match=r"sys\.exit"):
        nbaccel.get(leaves.remote())
    assert nbaccel.get(pid.remote()) == os.getpid()


def test_an_error_of_an_argument_is_the_tasks():
    @nbaccel.remote
    def fails():
        raise KeyError("first")

    with pytest.raises(KeyError, match="first"):
        nbaccel.get(plus_one.remote(fails.remote()))


def test_placement_groups_reserve_devices():
    group = placement_group([{"GPU": 1, "CPU": 1}])
    assert nbaccel.get(group.ready()) == group
    strategy = PlacementGroupSchedulingStrategy(group)
    assert nbaccel.get(ids.options(scheduling_strategy=strategy).remote())[0] == [0]
    assert nbaccel.get(ids.remote())[0] == [1]
    remove_placement_group(group)
    with pytest.raises(exceptions.TaskPlacementGroupRemoved):
        nbaccel.get(ids.options(scheduling_strategy=strategy).remote())


def test_runtime_env_is_taken_on_for_the_call_only(tmp_path):
    @nbaccel.remote(runtime_env={"env_vars": {"OWN": "yes"}, "working_dir": str(tmp_path)})
    def look():
        return os.environ["OWN"], os.getcwd()

    before = os.getcwd()
    assert nbaccel.get(look.remote()) == ("yes", str(tmp_path))
    assert "OWN" not in os.environ and os.getcwd() == before
    with pytest.raises(exceptions.RuntimeEnvSetupError, match="pip"):
        nbaccel.get(pid.options(runtime_env={"pip": ["x"]}).remote())


def test_the_snapshot_and_the_state_are_there():
    from nbaccel.util.state import list_actors, list_tasks

    counter = Counter.options(num_gpus=1).remote()
    nbaccel.get(plus_one.remote(1))
    assert {"plus_one": "FINISHED"}.items() <= {task.name: task.state for task in list_tasks()}.items()
    assert [(row.class_name, row.state, row.device_ids) for row in list_actors()] == [
        ("Counter", "ALIVE", {"GPU": ["0"]})
    ]
    snapshot = nbaccel.snapshot()
    assert snapshot.runtime.engine == "debug" and snapshot.devices[0].holders[0].name == "Counter"
    assert nbaccel.probe(num_gpus=2).verdict.name == "BUSY"
    del counter


def test_what_init_returns_is_drawn_as_a_card_with_ids_of_devices():
    context = nbaccel.init(engine="debug", ignore_reinit_error=True)
    card = context._repr_mimebundle_()
    assert "GPU 1" in card["text/plain"] and "GPU 1" in card["text/html"]
    assert repr(context) == card["text/plain"]
    nbaccel.shutdown()
    assert context._repr_mimebundle_() == {"text/plain": repr(context)} == {"text/plain": "nbaccel: shut down"}


def test_it_cannot_join_others():
    nbaccel.shutdown()
    with pytest.raises(ValueError, match="address"):
        nbaccel.init("auto-not", engine="debug")
    nbaccel.init(engine="debug", num_cpus=1)


def test_a_task_knows_its_function_with_its_module():
    @nbaccel.remote
    def own_name():
        return nbaccel.get_runtime_context().get_task_function_name()

    assert nbaccel.get(own_name.remote()) == f"{__name__}.own_name"


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (lambda actor: actor.leave.remote(), ["goodbye"]),
        (lambda actor: actor.__ray_terminate__.remote(), ["goodbye"]),
        (lambda actor: None, ["goodbye"]),
        (nbaccel.kill, []),
    ],
)
def test_an_actor_that_is_not_killed_says_goodbye(end, said):
    words = []

    class Polite:
        def leave(self):
            nbaccel.actor.exit_actor()

        def __ray_shutdown__(self):
            words.append("goodbye")

    actor = nbaccel.remote(Polite).remote()
    nbaccel.get(actor.__ray_ready__.remote())
    end(actor)
    del actor
    nbaccel.get(nbaccel.put(1))  # what has gone out of scope is noticed by the next question
    assert words == said


def test_who_watches_after_the_end_is_told_so():
    engine = nbaccel.engine.current()
    seen = []
    engine.watch(seen.append)
    assert seen[-1] is not None
    nbaccel.shutdown()
    engine.watch(seen.append)
    assert seen[-1] is None


def test_an_actor_that_leaves_in_a_task_that_nobody_waits_for_logs_nothing_of_it(caplog):
    gc.collect()  # what earlier tests left says its last words now
    caplog.clear()

    class Leaves:
        async def go(self):
            asyncio.create_task(self.leave())  # noqa: RUF006 - nobody is to ask how it ends
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        async def leave(self):
            nbaccel.actor.exit_actor()

    with pytest.raises(exceptions.ActorDiedError):
        nbaccel.get(nbaccel.remote(Leaves).remote().go.remote())
    gc.collect()
    assert caplog.text == ""

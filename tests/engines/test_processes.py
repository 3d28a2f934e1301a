"""What a cancel, a crash or a restart does to work that runs, on the engines that run it in processes of their own.

The debug engine runs a call inside of `.remote()`, in the process of the tests: there is nothing to end or to cancel.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import time

import pytest

import nbaccel
from nbaccel import exceptions, tune
from nbaccel.util.multiprocessing import Pool
from tests.engines.conftest import ON_RAY
from tests.rig import is_alive, wait_until

pytestmark = pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=ON_RAY)], indirect=True)


def caught(nb, ref):
    """What `get` raises."""
    with pytest.raises(exceptions.RayError) as caught:
        nb.get(ref)
    return caught.value


def assert_both(error, name):
    """Whoever catches errors of tasks catches it, and whoever catches cancels."""
    assert isinstance(error, exceptions.RayTaskError) and isinstance(error, exceptions.TaskCancelledError)
    assert isinstance(error.cause, exceptions.TaskCancelledError)
    assert error.function_name == name
    assert f"in {name}" in str(error)


@pytest.mark.parametrize("recursive", [True, False])
def test_children_are_cancelled_with_their_parent_unless_told_otherwise(nb, gate, tmp_path, recursive):
    @nb.remote
    def parent(gate, path):
        return nbaccel.get(child.remote(gate, path))

    @nb.remote(num_cpus=0)
    def child(gate, path):
        try:
            nbaccel.get(gate.wait.remote())
            open(f"{path}-done", "w").close()
        except BaseException:
            open(f"{path}-cancelled", "w").close()
            raise

    path = tmp_path / "child"
    ref = parent.remote(gate, str(path))
    wait_until(lambda: nb.get(gate.arrived.remote()))
    nb.cancel(ref, recursive=recursive)
    assert_both(caught(nb, ref), "parent")
    if not recursive:
        nb.get(gate.open.remote())
    wait_until((tmp_path / ("child-cancelled" if recursive else "child-done")).exists)


@pytest.mark.parametrize("kind", ["sync", "async", "stream"])
def test_a_cancelled_call_of_an_actor_takes_along_what_it_waits_for(nb, gate, tmp_path, kind):
    @nb.remote(num_cpus=0)
    def child(gate, path):
        try:
            nbaccel.get(gate.wait.remote())
        except BaseException:
            open(path, "w").close()
            raise

    class Parents:
        def sync(self, gate, path):
            return nbaccel.get(child.remote(gate, path))

    class AsyncParents:
        async def async_(self, gate, path):
            return await child.remote(gate, path)

        async def stream(self, gate, path):
            yield 1
            yield await child.remote(gate, path)

    if kind == "sync":
        ref = nb.remote(Parents).remote().sync.remote(gate, str(tmp_path / "cancelled"))
    else:
        parents = nb.remote(AsyncParents).remote()
        ref = (parents.async_ if kind == "async" else parents.stream).remote(gate, str(tmp_path / "cancelled"))
    if kind == "stream":
        assert nb.get(next(ref)) == 1
    wait_until(lambda: nb.get(gate.arrived.remote()))
    nb.cancel(ref, recursive=True)
    error = caught(nb, next(ref) if kind == "stream" else ref)
    assert isinstance(error, exceptions.TaskCancelledError)
    if kind != "sync":  # of a plain method Ray tells what it raised or, where that comes late, the cancel alone
        assert isinstance(error, exceptions.RayTaskError)
    wait_until((tmp_path / "cancelled").exists)


def test_a_cancelled_stream_ends_with_that_error(nb, gate):
    @nb.remote
    def held(gate):
        yield 1
        nbaccel.get(gate.wait.remote())

    stream = held.remote(gate)
    assert nb.get(next(stream)) == 1
    wait_until(lambda: nb.get(gate.arrived.remote()))
    nb.cancel(stream)
    last = list(stream)
    assert len(last) == 1
    assert_both(caught(nb, last[0]), "held")


@pytest.mark.parametrize("ahead", [-1, 1, 2])
def test_a_stream_whose_worker_dies_goes_on_where_it_was(nb, tmp_path, ahead):
    @nb.remote(max_retries=1, _generator_backpressure_num_objects=ahead)
    def dies_once():
        first = not (tmp_path / "ran").exists()
        (tmp_path / "ran").touch()
        for number in range(6):
            if first and number == 4:
                os._exit(1)
            yield number

    assert [nb.get(ref) for ref in dies_once.remote()] == list(range(6))


@pytest.mark.parametrize("ahead", [-1, 2])
@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
def test_a_method_that_streams_goes_on_where_it_was_when_its_actor_dies(nb, tmp_path, kind, ahead):
    # On Ray, each try until the actor's end is told is one, and that may take seconds.
    @nb.remote(max_restarts=1, max_task_retries=-1)
    class Source:
        def plain(self):
            for number in range(6):
                self._dies_once_at(number)
                yield number

        async def asynchronous(self):
            for number in range(6):
                self._dies_once_at(number)
                yield number

        def _dies_once_at(self, number):
            if number == 4 and not (tmp_path / "died").exists():
                (tmp_path / "died").touch()
                os._exit(1)

    method = getattr(Source.remote(), kind).options(_generator_backpressure_num_objects=ahead)
    assert [nb.get(ref) for ref in method.remote()] == list(range(6))


def test_a_restart_storm_ends_in_words(nb):
    @nb.remote(max_restarts=1)
    class Storm:
        def __init__(self):
            os._exit(1)

        def call(self): ...

    with pytest.raises(exceptions.ActorDiedError):
        nb.get(Storm.remote().call.remote(), timeout=60)


def test_a_constructor_that_hangs_can_be_killed(nb, tmp_path):
    @nb.remote
    class Hangs:
        def __init__(self):
            import threading

            (tmp_path / "began").touch()
            threading.Event().wait()

        def call(self): ...

    hangs = Hangs.remote()
    call = hangs.call.remote()
    wait_until((tmp_path / "began").exists)
    nb.kill(hangs)
    with pytest.raises(exceptions.ActorDiedError):
        nb.get(call, timeout=60)


def test_a_call_sees_that_it_is_cancelled_and_whoever_waits_for_it_is_told(nb, tmp_path):
    @nb.remote
    class Patient:
        def work(self):
            (tmp_path / "began").touch()
            while not nbaccel.get_runtime_context().is_canceled():
                pass
            return "not what is returned"

    patient = Patient.remote()
    ref = patient.work.remote()
    wait_until((tmp_path / "began").exists)
    nb.cancel(ref)
    with pytest.raises(exceptions.TaskCancelledError):
        nb.get(ref, timeout=60)


def test_calls_under_way_are_a_reason_to_live(nb):
    @nb.remote
    class Counter:
        def __init__(self):
            self.count = 0

        def add(self):
            self.count += 1
            return self.count

    counter = Counter.remote()
    calls = [counter.add.remote() for _ in range(20)]
    del counter
    assert nb.get(calls) == list(range(1, 21))


@pytest.mark.parametrize("end", ["leave", "__ray_terminate__", "out of scope"])
def test_an_actor_that_is_not_killed_says_its_last_words(nb, tmp_path, end):
    @nb.remote
    class Diarist:
        def ready(self):
            return True

        def leave(self):
            nbaccel.actor.exit_actor()

        def __ray_shutdown__(self):
            (tmp_path / "goodbye").touch()

    diarist = Diarist.remote()
    nb.get(diarist.ready.remote())
    if end != "out of scope":
        getattr(diarist, end).remote()
    del diarist
    wait_until((tmp_path / "goodbye").exists)


def test_an_async_actor_says_its_last_words_too(nb, tmp_path):
    @nb.remote
    class Diarist:
        async def ready(self):
            return True

        def __ray_shutdown__(self):
            (tmp_path / "goodbye").touch()

    diarist = Diarist.remote()
    nb.get(diarist.ready.remote())
    del diarist
    wait_until((tmp_path / "goodbye").exists)


def test_last_words_that_fail_do_not_keep_an_actor_from_ending(nb):
    @nb.remote
    class Grumpy:
        def pid(self):
            return os.getpid()

        def __ray_shutdown__(self):
            raise ValueError("not yet")

    grumpy = Grumpy.remote()
    pid = nb.get(grumpy.pid.remote())
    del grumpy
    wait_until(lambda: not is_alive(pid))


def test_a_killed_actor_has_no_last_words(nb, tmp_path):
    @nb.remote
    class Diarist:
        def pid(self):
            return os.getpid()

        def __ray_shutdown__(self):
            (tmp_path / "goodbye").touch()

    diarist = Diarist.remote()
    pid = nb.get(diarist.pid.remote())
    nb.kill(diarist)
    wait_until(lambda: not is_alive(pid))
    assert not (tmp_path / "goodbye").exists()


@pytest.mark.parametrize("end", ["killed", "crashed", "crashed task"])
def test_what_a_dead_process_had_submitted_ends_with_it(nb, gate, end):
    @nb.remote
    def child(gate):
        nbaccel.get(gate.wait.remote())

    @nb.remote(num_cpus=0)
    class Helper:
        def work(self, gate):
            nbaccel.get(gate.wait.remote())

    def submit(gate):
        helper = Helper.remote()
        return helper, [child.remote(gate), helper.work.remote(gate)]

    @nb.remote(num_cpus=0)
    class Parent:
        def start(self, gate):
            self.work = submit(gate)

        def crash(self):
            os._exit(1)

    @nb.remote(num_cpus=0, max_retries=0)
    def crash(gate):
        _kept = submit(gate)
        while nbaccel.get(gate.arrived.remote()) < 2:
            pass
        os._exit(1)

    before = nb.cluster_resources()["CPU"]
    if end == "crashed task":
        with pytest.raises(exceptions.WorkerCrashedError):
            nb.get(crash.remote(gate))
    else:
        parent = Parent.remote()
        nb.get(parent.start.remote(gate))
        wait_until(lambda: nb.get(gate.arrived.remote()) == 2)
        if end == "killed":
            nb.kill(parent)
        else:
            parent.crash.remote()
    running = [("state", "=", "ALIVE"), ("class_name", "=", "Helper")]
    wait_until(lambda: not nb.util.state.list_actors(filters=running))
    wait_until(lambda: nb.available_resources().get("CPU") == before)


def test_an_actor_ends_with_the_task_that_created_it_and_was_cancelled_by_force(nb, tmp_path):
    @nb.remote(num_cpus=0)
    class LeftBehind:
        def wait(self):
            (tmp_path / "there").touch()
            time.sleep(600)

    @nb.remote(num_cpus=0, max_retries=0)
    def leave():
        nb.get(LeftBehind.remote().wait.remote())

    left = leave.remote()
    wait_until((tmp_path / "there").exists, "the call of the actor")
    nb.cancel(left, force=True)
    running = [("state", "=", "ALIVE"), ("class_name", "=", "LeftBehind")]
    wait_until(lambda: not nb.util.state.list_actors(filters=running), "the actor's end")


def test_a_task_that_interrupts_itself_is_told_as_cancelled(nb):
    @nb.remote(max_retries=0)
    def interrupts():
        raise KeyboardInterrupt

    with pytest.raises(exceptions.TaskCancelledError):
        nb.get(interrupts.remote())


def test_a_call_without_retries_does_not_wait_until_its_actor_has_restarted(nb, gate, tmp_path):
    @nb.remote(max_restarts=-1)
    class Restarts:
        def __init__(self, gate, path):
            if os.path.exists(path):
                nbaccel.get(gate.wait.remote())
            open(path, "w").close()

        def pid(self):
            return os.getpid()

    actor = Restarts.remote(gate, str(tmp_path / "once"))
    first = nb.get(actor.pid.remote())
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: nb.get(gate.arrived.remote()))
    patient = actor.pid.options(max_task_retries=-1).remote()
    with pytest.raises(exceptions.ActorUnavailableError):
        nb.get(actor.pid.remote(), timeout=90)
    nb.get(gate.open.remote())
    assert nb.get(patient) != first


def test_groups_of_an_asyncio_actor_do_not_hold_up_each_other(nb, gate, tmp_path):
    @nb.remote(num_cpus=0, concurrency_groups={"slow": 1, "quick": 2})
    class Groups:
        @nb.method(concurrency_group="slow")
        async def block(self, path):
            open(f"{path}-blocked", "w").close()
            while not os.path.exists(path):  # without an await, as a library may do
                time.sleep(0.01)
            return threading.get_ident()

        @nb.method(concurrency_group="quick")
        async def quick(self):
            return threading.get_ident()

        async def plain(self):
            return threading.get_ident()

        @nb.method(concurrency_group="quick")
        def in_quick(self):
            return threading.get_ident(), asyncio.get_running_loop() is not None

    groups, path = Groups.remote(), str(tmp_path / "open")
    blocked = groups.block.remote(path)
    wait_until((tmp_path / "open-blocked").exists)
    quick, plain, (same, in_loop) = nb.get([groups.quick.remote(), groups.plain.remote(), groups.in_quick.remote()])
    assert quick == same != plain
    assert in_loop
    open(path, "w").close()
    assert nb.get(blocked) not in (quick, plain)


def _uses(nb, ref, stream, function):
    """What a program does with what it has from before a fork, and with a cluster that it has not started itself."""
    return [
        lambda: nb.put(1),
        lambda: nb.get(ref),
        lambda: nb.wait([ref]),
        lambda: ref.future().result(60),
        lambda: next(stream),
        lambda: function.remote(),
        lambda: nb.cluster_resources(),
        lambda: Pool(1),
        lambda: tune.Tuner(print).fit(),
    ]


def _refused(uses):
    """How each use ended."""
    endings = []
    for use in uses:
        try:
            use()
            endings.append("used")
        except exceptions.RaySystemError as error:
            endings.append("refused" if "was forked from" in str(error) else str(error))
    return endings


def _in_child(act):
    """What this returns in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, repr(act()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def test_a_forked_child_of_the_driver_is_refused(nb):
    @nb.remote(num_returns="streaming")
    def items():
        yield 1

    @nb.remote
    def one():
        return 1

    ref, stream = nb.put(5), items.remote()
    uses = _uses(nb, ref, stream, one)
    assert _in_child(lambda: _refused(uses)) == repr(["refused"] * len(uses))
    assert nb.get([ref, next(stream), one.remote()]) == [5, 1, 1]


def test_a_forked_child_of_a_task_is_refused(nb):
    @nb.remote
    def one():
        return 1

    @nb.remote(num_cpus=0)
    def forks():
        waits = one.remote()
        uses = [lambda: nb.put(1), lambda: one.remote(), lambda: nb.cluster_resources(), lambda: nb.kill(actor)]
        return _in_child(lambda: _refused(uses)), nb.get(waits)

    actor = nb.remote(Sleeper).remote()
    assert nb.get(forks.remote()) == (repr(["refused"] * 4), 1)
    nb.kill(actor)


class Sleeper:
    pass


def _get(ref):
    return nbaccel.get(ref)


def test_a_forked_pool_is_refused_with_the_refs_that_it_gets_and_its_end_ends_nothing_else(nb):
    ref = nb.put(5)
    with multiprocessing.get_context("fork").Pool(1) as pool:  # its end is a SIGTERM, for which Ray has a handler
        with pytest.raises(exceptions.RaySystemError, match="was forked from"):
            pool.map_async(_get, [ref]).get(60)
    assert nb.get(ref) == 5
    assert nb.get(nb.remote(abs).remote(-1)) == 1

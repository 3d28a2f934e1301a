"""How actors begin and end: restarts, retries, kills, exits, names, and what their handles keep alive."""

import asyncio
import atexit
import contextlib
import os
import sys
import threading

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.util.state import list_actors
from tests.rig import is_alive, wait_until


@nbaccel.remote
class Counter:
    def __init__(self):
        self.n = 0

    def add(self):
        self.n += 1
        return self.n

    def pid(self):
        return os.getpid()

    def ids(self):
        return nbaccel.get_gpu_ids(), os.environ.get("CUDA_VISIBLE_DEVICES")

    def die(self):
        os._exit(3)

    def leave(self):
        nbaccel.actor.exit_actor()

    def reconstructed(self):
        return nbaccel.get_runtime_context().was_current_actor_reconstructed

    def me(self):
        return nbaccel.get_runtime_context().current_actor


def _gone(pid):
    return wait_until(lambda: not os.path.exists(f"/proc/{pid}"))


def _again(actor):
    """The first answer after a restart."""

    def answer():
        try:
            return nbaccel.get(actor.pid.remote())
        except exceptions.ActorUnavailableError:
            return None

    return wait_until(answer)


def test_a_restarted_actor_keeps_its_device():
    other = Counter.options(num_gpus=1).remote()
    actor = Counter.options(num_gpus=1, max_restarts=1).remote()
    before, pid = nbaccel.get([actor.ids.remote(), actor.pid.remote()])
    with pytest.raises(exceptions.ActorUnavailableError, match="code 3"):
        nbaccel.get(actor.die.remote())
    assert _again(actor) != pid
    assert nbaccel.get(actor.ids.remote()) == before
    assert nbaccel.get(actor.reconstructed.remote())
    with pytest.raises(exceptions.ActorDiedError):
        nbaccel.get(actor.die.remote())
    nbaccel.kill(other)


def test_a_call_is_retried_on_the_restarted_actor(tmp_path):
    @nbaccel.remote(max_restarts=3, max_task_retries=3)
    class Shaky:
        def third_time(self):
            with open(tmp_path / "runs", "a") as file:
                file.write("x")
            if len((tmp_path / "runs").read_text()) < 3:
                os._exit(1)
            return "done"

    assert nbaccel.get(Shaky.remote().third_time.remote()) == "done"


def test_a_method_is_retried_for_the_errors_that_it_names(tmp_path):
    @nbaccel.remote
    class Shaky:
        @nbaccel.method(max_task_retries=2, retry_exceptions=[OSError])
        def run(self, kind):
            with open(tmp_path / kind.__name__, "a") as file:
                file.write("x")
            if len((tmp_path / kind.__name__).read_text()) < 3:
                raise kind("not yet")
            return "done"

    shaky = Shaky.remote()
    assert nbaccel.get(shaky.run.remote(OSError)) == "done"
    with pytest.raises(KeyError):
        nbaccel.get(shaky.run.remote(KeyError))


def test_a_restart_storm_ends_in_words():
    @nbaccel.remote(max_restarts=2)
    class Storm:
        def __init__(self):
            os._exit(1)

        def call(self): ...

    with pytest.raises(exceptions.ActorDiedError, match="exited with code 1"):
        nbaccel.get(Storm.remote().call.remote())


def test_a_constructor_that_raises_is_told_with_its_error():
    @nbaccel.remote
    class Broken:
        def __init__(self):
            raise ValueError("no weights")

        def call(self): ...

    broken = Broken.remote()
    for _ in range(2):
        with pytest.raises(exceptions.ActorDiedError, match=r"creation task.*(?s:.*)no weights") as caught:
            nbaccel.get(broken.call.remote())
        assert isinstance(caught.value.cause.cause, ValueError)


def test_a_constructor_that_hangs_can_be_killed():
    @nbaccel.remote
    class Hangs:
        def __init__(self, gate):
            import threading

            threading.Event().wait()

        def call(self): ...

    hangs = Hangs.remote(None)
    call = hangs.call.remote()
    nbaccel.kill(hangs)
    with pytest.raises(exceptions.ActorDiedError, match="killed"):
        nbaccel.get(call)


@pytest.mark.parametrize("how", ["leave", "__ray_terminate__"])
def test_an_actor_that_leaves_is_not_restarted(how):
    actor = Counter.options(max_restarts=-1).remote()
    pid = nbaccel.get(actor.pid.remote())
    with pytest.raises(exceptions.ActorDiedError, match="exit_actor"):
        nbaccel.get(getattr(actor, how).remote())
    _gone(pid)
    with pytest.raises(exceptions.ActorDiedError):
        nbaccel.get(actor.add.remote())


def test_kill_may_leave_it_a_restart():
    actor = Counter.options(max_restarts=1).remote()
    pid = nbaccel.get(actor.pid.remote())
    nbaccel.kill(actor, no_restart=False)
    assert _again(actor) != pid
    nbaccel.kill(actor)
    with pytest.raises(exceptions.ActorDiedError, match="killed"):
        nbaccel.get(actor.add.remote())


def test_calls_under_way_are_a_reason_to_live():
    actor = Counter.remote()
    pid = nbaccel.get(actor.pid.remote())
    calls = [actor.add.remote() for _ in range(20)]
    del actor
    assert nbaccel.get(calls) == list(range(1, 21))
    _gone(pid)


def test_handles_travel_inside_objects_and_to_other_actors():
    @nbaccel.remote
    class Holder:
        def __init__(self, inside):
            self.counter = inside["counter"]

        def add(self):
            return nbaccel.get(self.counter.add.remote())

    holder = Holder.remote({"counter": Counter.remote()})
    assert nbaccel.get(holder.add.remote()) == 1
    assert nbaccel.get(holder.add.remote()) == 2
    counter = Counter.remote()
    assert nbaccel.get(nbaccel.get(counter.me.remote()).add.remote()) == 1


def test_ready_and_call_are_there_without_being_written():
    counter = Counter.remote()
    assert nbaccel.get(counter.__ray_ready__.remote()) is True
    assert nbaccel.get(counter.__ray_call__.remote(lambda self, more: self.n + more, 5)) == 5


def test_a_name_is_free_when_its_actor_is_killed():
    first = Counter.options(name="taken").remote()
    with pytest.raises(exceptions.ActorAlreadyExistsError, match="taken"):
        Counter.options(name="taken").remote()
    assert nbaccel.get_actor("taken") == first
    nbaccel.kill(first)
    second = Counter.options(name="taken").remote()
    assert nbaccel.get(second.add.remote()) == 1


def test_options_that_are_refused_take_no_name():
    with pytest.raises(ValueError):
        Counter.options(name="unused", num_gpus=1.5).remote()
    with pytest.raises(ValueError, match="unused"):
        nbaccel.get_actor("unused")


def test_many_that_get_or_create_get_the_same_one():
    @nbaccel.remote
    def get_or_create():
        return Counter.options(name="one", get_if_exists=True, lifetime="detached").remote()._actor_id

    assert len(set(nbaccel.get([get_or_create.remote() for _ in range(8)]))) == 1
    nbaccel.kill(nbaccel.get_actor("one"))


def test_names_belong_to_namespaces():
    elsewhere = Counter.options(name="far", namespace="elsewhere").remote()
    with pytest.raises(ValueError, match="elsewhere"):
        nbaccel.get_actor("far")
    assert nbaccel.get_actor("far", namespace="elsewhere") == elsewhere
    assert {"name": "far", "namespace": "elsewhere"} in nbaccel.util.list_named_actors(all_namespaces=True)
    assert "far" not in nbaccel.util.list_named_actors()


def test_the_limit_of_pending_calls_raises_at_the_call():
    @nbaccel.remote(max_pending_calls=2)
    class Slow:
        def wait(self, gate):
            nbaccel.get(gate.wait.remote())

    from tests.rig import Gate

    gate, slow = Gate.remote(), Slow.remote()
    calls = [slow.wait.remote(gate), slow.wait.remote(gate)]
    with pytest.raises(exceptions.PendingCallsLimitExceeded, match="2"):
        slow.wait.remote(gate)
    nbaccel.get(gate.open.remote())
    nbaccel.get(calls)
    wait_until(lambda: _accepted(slow, gate))


def _accepted(slow, gate):
    try:
        return slow.wait.remote(gate)
    except exceptions.PendingCallsLimitExceeded:
        return None


def test_an_actor_that_waits_says_why():
    counter = Counter.options(num_gpus=50).remote()
    row = wait_until(lambda: [row for row in list_actors() if row.actor_id == counter._actor_id.hex() and row.why])[0]
    assert row.state == "PENDING_CREATION" and "50" in row.why


def test_a_sync_call_sees_that_it_is_cancelled_and_whoever_waits_for_it_is_told():
    @nbaccel.remote
    class Patient:
        def work(self):
            wait_until(lambda: nbaccel.get_runtime_context().is_canceled())
            return "not what is returned"

    ref = Patient.remote().work.remote()
    nbaccel.cancel(ref)
    with pytest.raises(exceptions.TaskCancelledError):
        nbaccel.get(ref)
    with pytest.raises(ValueError, match="force"):
        nbaccel.cancel(Counter.remote().add.remote(), force=True)


def test_a_call_that_ends_the_process_and_those_behind_it_are_made_again_where_they_have_retries_only():
    actor = Counter.options(max_restarts=5).remote()
    before = [actor.add.remote() for _ in range(30)]
    fatal = actor.die.remote()
    behind = actor.add.remote()
    patient = [actor.add.options(max_task_retries=1).remote() for _ in range(3)]
    assert nbaccel.get(before) == list(range(1, 31))
    for call in (fatal, behind):
        with pytest.raises(exceptions.ActorUnavailableError):
            nbaccel.get(call)
    assert nbaccel.get(patient) == [1, 2, 3]
    assert [row.num_restarts for row in list_actors() if row.actor_id == actor._actor_id.hex()] == [1]


@nbaccel.remote
class Diarist:
    """Writes down how it ends."""

    def __init__(self, diary):
        self.diary = diary
        atexit.register(self._write, diary, "atexit")

    @staticmethod
    def _write(diary, word):
        with diary.open("a") as file:
            file.write(word + " ")

    def __ray_shutdown__(self):
        self._write(self.diary, "shutdown")
        print(nbaccel.get(Counter.remote().add.remote()))  # it can still ask for things

    def ready(self):
        return True

    def leave(self):
        nbaccel.actor.exit_actor()

    def exit(self):
        raise SystemExit(3)


ENDS = {
    "exit_actor": lambda actor: actor.leave.remote(),
    "__ray_terminate__": lambda actor: actor.__ray_terminate__.remote(),
    "sys.exit": lambda actor: actor.exit.remote(),
    "out of scope": lambda actor: None,
}


@pytest.mark.parametrize("end", list(ENDS))
def test_an_actor_that_is_not_killed_says_goodbye(end, tmp_path):
    diary = tmp_path / "diary"
    actor = Diarist.remote(diary)
    nbaccel.get(actor.ready.remote())
    ENDS[end](actor)
    del actor
    wait_until(lambda: diary.exists() and diary.read_text() == "shutdown atexit ")


def test_an_async_actor_says_goodbye_too(tmp_path):
    @nbaccel.remote
    class Async:
        async def ready(self):
            return True

        def __ray_shutdown__(self):
            (tmp_path / "seen").touch()

    actor = Async.remote()
    nbaccel.get(actor.ready.remote())
    del actor
    wait_until(lambda: (tmp_path / "seen").exists())


def test_a_killed_actor_has_no_last_words(tmp_path):
    diary = tmp_path / "diary"
    actor = Diarist.remote(diary)
    nbaccel.get(actor.ready.remote())
    nbaccel.kill(actor)
    with pytest.raises(exceptions.ActorDiedError):
        nbaccel.get(actor.ready.remote())
    assert not diary.exists()


def test_last_words_that_fail_are_printed_and_the_actor_ends_all_the_same(tmp_path):
    @nbaccel.remote
    class Grumpy:
        def pid(self):
            return os.getpid()

        def __ray_shutdown__(self):
            raise ValueError("not yet")

    actor = Grumpy.remote()
    pid = nbaccel.get(actor.pid.remote())
    del actor
    _gone(pid)


@pytest.mark.parametrize("how", ["constructor", "task", "later"])
def test_an_actor_that_leaves_from_anywhere_ends_its_process_after_its_last_words(tmp_path, how):
    @nbaccel.remote
    class Leaves:
        def __init__(self):
            atexit.register((tmp_path / "said").touch)
            (tmp_path / str(os.getpid())).touch()
            if how == "constructor":
                nbaccel.actor.exit_actor()

        async def go(self):
            leaving = asyncio.create_task(self.leave())
            if how == "task":
                await asyncio.wait([leaving])

        async def leave(self):
            nbaccel.actor.exit_actor()

    actor = Leaves.remote()
    with contextlib.suppress(exceptions.ActorDiedError):
        nbaccel.get(actor.go.remote())
    wait_until((tmp_path / "said").exists)
    (pid,) = [int(path.name) for path in tmp_path.iterdir() if path.name != "said"]
    wait_until(lambda: not is_alive(pid))
    with pytest.raises(exceptions.ActorDiedError, match="ended itself"):
        nbaccel.get(actor.go.remote())


@pytest.mark.parametrize("group", [None, "side"])
@pytest.mark.parametrize("how", ["task", "callback", "asyncio.run", "thread"])
def test_an_actor_that_leaves_in_code_that_nobody_waits_for_prints_nothing_of_it(capfd, how, group):
    @nbaccel.remote(concurrency_groups={"side": 1})
    class Leaves:
        def __ray_shutdown__(self):
            print("last words", file=sys.stderr)  # in one order with what comes before

        async def go(self):
            if how == "callback":
                asyncio.get_running_loop().call_soon(nbaccel.actor.exit_actor)
            elif how == "asyncio.run":
                await asyncio.to_thread(asyncio.run, self.begin())
            elif how == "thread":
                thread = threading.Thread(target=nbaccel.actor.exit_actor)
                thread.start()
                thread.join()
            else:
                await self.begin()
            await asyncio.sleep(0)

        async def begin(self):
            asyncio.create_task(self.leave())  # noqa: RUF006 - nobody is to ask how it ends
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        async def leave(self):
            nbaccel.actor.exit_actor()

    actor = Leaves.remote()
    with contextlib.suppress(exceptions.ActorDiedError):
        nbaccel.get(actor.go.options(concurrency_group=group).remote())
    said = ""

    def has_ended():
        nonlocal said
        said += capfd.readouterr().err
        return "last words" in said

    wait_until(has_ended)
    assert "ActorExit" not in said

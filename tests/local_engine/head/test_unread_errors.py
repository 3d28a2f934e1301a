"""An error that nobody asks for is told in a line; one that was read, or that the user caused, is not told again."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import time
from collections.abc import Callable, Iterator

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.driver.engine import News
from nbaccel.util.placement_group import placement_group, remove_placement_group
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from nbaccel.views import sinks
from tests.census import Place
from tests.rig import DEADLINE_S, Gate, wait_until

pytestmark = pytest.mark.usefixtures("cluster")


@nbaccel.remote
def bad(*ignored: object) -> None:
    raise ValueError("no good")


@nbaccel.remote
def bad_after(gate: Gate) -> None:  # no object among its arguments, which the head would keep to run it again
    nbaccel.get(gate.wait.remote())
    raise ValueError("no good")


@nbaccel.remote(max_retries=0)
def dies() -> None:
    os._exit(3)


@nbaccel.remote
def passes_on(value: object) -> object:
    return value


@nbaccel.remote
def verbose() -> None:
    raise ValueError("x" * 20_000)


@nbaccel.remote
def gets(refs: list[object]) -> None:
    nbaccel.get(refs)


@nbaccel.remote
def submits() -> None:
    bad.remote()


@nbaccel.remote
def sleeps() -> None:
    time.sleep(1e6)


@nbaccel.remote
def fence() -> None:
    raise EOFError


@nbaccel.remote
class Actor:
    def bad(self) -> None:
        raise OSError("full")


@nbaccel.remote
class Broken:
    def __init__(self, waits: list[object] | None = None) -> None:
        nbaccel.get(waits or [])
        raise OSError("no disk")

    def bad(self) -> None:
        pass


@pytest.fixture
def notified(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """What was said since the test began, once all is said that there is to say."""
    notices: list[str] = []
    numbers = itertools.count()
    monkeypatch.setattr(sinks.installed, "notice", lambda notice: notices.append(notice.message))

    def until_now() -> list[str]:
        name = f"fence-{next(numbers)}"
        fence.options(name=name).remote()  # the head speaks of it after all that it heard before
        wait_until(lambda: any(text.startswith(f"{name} ") for text in notices), "the fence")
        return [text for text in notices if text and not text.startswith("fence")]

    yield until_now


def _ends(ref: object) -> None:
    nbaccel.wait([ref], timeout=DEADLINE_S)


def test_of_a_task_whose_ref_was_never_kept(notified: Callable[[], list[str]]) -> None:
    bad.remote()
    wait_until(notified, "the line")
    [line] = notified()
    assert line.startswith("bad (pid ") and line.endswith(
        ") failed and nobody asked for its result: ValueError: no good"
    )


@pytest.mark.parametrize(
    ("submit", "words"),
    [
        (lambda: bad.remote(), "ValueError: no good"),
        (lambda: bad.options(num_returns=2).remote(), "ValueError: no good"),
        (lambda: dies.remote(), "exited with code 3"),
        (lambda: passes_on.remote(bad.remote()), "an argument failed: ValueError: no good"),
        (lambda: passes_on.remote(passes_on.remote(bad.remote())), ": an argument failed: ValueError: no good"),
        (lambda: verbose.remote(), "ValueError: xxx"),
        (lambda: Actor.remote().bad.remote(), "OSError: full"),
    ],
    ids=["task", "two results", "crash", "argument", "its argument", "large error", "actor"],
)
def test_when_its_last_ref_ends(notified: Callable[[], list[str]], submit: Callable[[], object], words: str) -> None:
    refs = submit()
    for ref in refs if isinstance(refs, list) else [refs]:
        _ends(ref)
    assert notified() == []
    del refs, ref
    wait_until(notified, "the line")
    assert [words in line for line in notified()] == [True]


def test_of_a_constructor_whose_argument_failed(notified: Callable[[], list[str]]) -> None:
    broken = Broken.remote(bad.remote())
    wait_until(notified, "the line")
    assert notified() == ["Broken.__init__ failed: an argument failed: ValueError: no good"]
    with pytest.raises(exceptions.ActorDiedError, match="no good"):
        nbaccel.get(broken.bad.remote())


def test_of_a_constructor_of_which_nobody_calls(notified: Callable[[], list[str]]) -> None:
    broken = Broken.remote()
    wait_until(notified, "the line")
    [line] = notified()
    assert line.startswith("Broken.__init__ (pid ")
    assert line.endswith(") failed: OSError: no disk")
    with pytest.raises(exceptions.ActorDiedError, match="no disk"):
        nbaccel.get(broken.bad.remote())


def test_without_any_ref(notified: Callable[[], list[str]]) -> None:
    bad.options(num_returns=0, name="none").remote()
    wait_until(notified, "the line")
    assert [line.split()[0] for line in notified()] == ["none"]


def test_of_a_task_that_a_task_has_submitted(notified: Callable[[], list[str]]) -> None:
    nbaccel.get(submits.remote())
    wait_until(notified, "the line")
    assert [line.split()[0] for line in notified()] == ["bad"]


def _gets() -> None:
    with pytest.raises(ValueError, match="no good"):
        nbaccel.get(bad.remote())


def _gets_several() -> None:
    refs = [bad.remote() for _ in range(10)]
    with pytest.raises(ValueError, match="no good"):
        nbaccel.get(refs)
    nbaccel.wait(refs, num_returns=10)


def _gets_one_of_two() -> None:
    first, second = bad.options(num_returns=2).remote()
    with pytest.raises(ValueError, match="no good"):
        nbaccel.get(second)
    del second
    _ends(first)


def _passes_it_on() -> None:
    with pytest.raises(ValueError, match="no good"):
        nbaccel.get(passes_on.remote(bad.remote()))


def _calls_an_actor_that_is_never_there() -> None:
    gate = Gate.remote()
    broken = Broken.remote([gate.wait.remote()])
    ref = broken.bad.remote()
    nbaccel.get(gate.open.remote())
    with pytest.raises(exceptions.ActorDiedError, match="no disk"):
        nbaccel.get(ref)


def _takes_a_future() -> None:
    assert isinstance(bad.remote().future().exception(timeout=DEADLINE_S), ValueError)


def _cancels() -> None:
    ref = sleeps.remote()
    nbaccel.cancel(ref)
    with pytest.raises(exceptions.TaskCancelledError):
        nbaccel.get(ref)
    ref = sleeps.remote()
    nbaccel.cancel(ref)
    _ends(ref)


def _cancels_what_others_need() -> None:
    ref = sleeps.remote()
    refs = [passes_on.remote(ref), gets.remote([ref])]
    nbaccel.cancel(ref)
    nbaccel.wait(refs, num_returns=2)


def _removes_a_group() -> None:
    group = placement_group([{"CPU": 1}])
    nbaccel.get(group.ready())
    ref = sleeps.options(scheduling_strategy=PlacementGroupSchedulingStrategy(group)).remote()
    remove_placement_group(group)
    _ends(ref)


def _awaits_several() -> None:
    async def gathers() -> None:
        gate = Gate.remote()
        refs = [bad.remote(), bad_after.remote(gate)]
        with pytest.raises(ValueError, match="no good"):
            await asyncio.gather(*refs)
        gate.open.remote()

    asyncio.run(gathers())


def _kills() -> None:
    actor = Actor.remote()
    nbaccel.get(actor.__ray_ready__.remote())
    nbaccel.kill(actor)
    _ends(actor.bad.remote())


@pytest.mark.parametrize(
    "does",
    [
        _gets,
        _gets_several,
        _gets_one_of_two,
        _passes_it_on,
        _takes_a_future,
        _awaits_several,
        _cancels,
        _cancels_what_others_need,
        _removes_a_group,
        _kills,
        _calls_an_actor_that_is_never_there,
    ],
)
def test_nothing_where_it_is_no_news(notified: Callable[[], list[str]], does: Callable[[], None]) -> None:
    does()
    assert notified() == []


def test_a_flood_is_one_line_and_a_count(notified: Callable[[], list[str]]) -> None:
    for _ in range(50):
        bad.remote()
    wait_until(lambda: _failures(notified()) >= 50, "the count")
    assert notified()[0].startswith("bad (pid ")
    assert _failures(notified()) == 50


def _failures(lines: list[str]) -> int:
    """How many failures of `bad` the lines tell: each a line, and a line a second for those that have come since."""
    return sum(int(count[1]) if (count := re.search(r"bad failed (\d+) times more", line)) else 1 for line in lines)


def test_what_was_counted_is_said_at_the_end(place: Place) -> None:
    program = """
import nbaccel
@nbaccel.remote
def bad(): raise ValueError("no good")
def main():
    nbaccel.wait([bad.remote() for _ in range(6)], num_returns=6)
main()
"""
    done = place.run(program)
    first, *more = done.stderr.splitlines()
    assert first.endswith("failed and nobody asked for its result: ValueError: no good")
    assert _failures([first, *more]) == 6
    assert all(re.search(r"bad failed .* more and nobody asked for .*ValueError: no good", line) for line in more)


@pytest.mark.parametrize(("wanted", "said"), [("1", []), ("0", ["unread"])])
def test_a_program_can_ask_for_silence(monkeypatch: pytest.MonkeyPatch, wanted: str, said: list[str]) -> None:
    received: list[str] = []
    monkeypatch.setattr(sinks.installed, "notice", lambda notice: received.append(notice.message))
    monkeypatch.setenv("RAY_IGNORE_UNHANDLED_ERRORS", wanted)
    for notice in (wire.NoticeMessage(wire.UNREAD, "unread"), wire.NoticeMessage("leak", "leaked")):
        News._notice(None, notice)  # type: ignore[arg-type]
    assert received == [*said, "leaked"]

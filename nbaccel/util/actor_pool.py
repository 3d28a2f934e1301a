"""ActorPool: calls spread over a fixed set of actors, each with one call at a time."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import nbaccel
from nbaccel.exceptions import RayActorError


@dataclass(slots=True, eq=False)
class _Submission:
    """One call. It waits for an actor while `ref` is None."""

    fn: Callable[[Any, Any], Any]
    value: Any
    actor: Any = None
    ref: Any = None

    @property
    def first_ref(self) -> Any:
        """The ref to wait for: a call with several results has a list of refs, which become ready together."""
        return self.ref[0] if isinstance(self.ref, list) else self.ref


class ActorPool:
    """Spreads calls over `actors`; results come back in the order of the calls, or as they are ready.

    >>> @nbaccel.remote
    ... class Worker:
    ...     def double(self, value): return 2 * value
    >>> pool = ActorPool([Worker.remote() for _ in range(2)])
    >>> list(pool.map(lambda actor, value: actor.double.remote(value), [1, 2, 3]))
    [2, 4, 6]
    """

    def __init__(self, actors: Iterable[Any]) -> None:
        self._idle = deque(actors)
        self._all = list(self._idle)
        self._open: dict[_Submission, None] = {}  # refs whose result was not taken, in the order of submission
        self._waiting: deque[_Submission] = deque()
        self._running: dict[Any, _Submission] = {}  # by the ref that is waited for

    def map(self, fn: Callable[[Any, Any], Any], values: Iterable[Any]) -> Iterator[Any]:
        """Calls `fn(actor, value)`, which returns a ref, for each value; yields the results in order.

        It discards earlier results that were not taken.
        """
        self._drop_earlier()
        for value in values:
            self.submit(fn, value)
        return self._results(self.get_next)

    def map_unordered(self, fn: Callable[[Any, Any], Any], values: Iterable[Any]) -> Iterator[Any]:
        """As `map`; yields the results as they become ready."""
        self._drop_earlier()
        for value in values:
            self.submit(fn, value)
        return self._results(self.get_next_unordered)

    def submit(self, fn: Callable[[Any, Any], Any], value: Any) -> None:
        """Calls `fn(actor, value)` as soon as an actor is free."""
        call = _Submission(fn, value)
        self._open[call] = None
        self._waiting.append(call)
        self._start_waiting()

    def has_next(self) -> bool:
        """Whether any result has not been taken yet."""
        return bool(self._open)

    def get_next(self, timeout: float | None = None, ignore_if_timedout: bool = False) -> Any:
        """The result of the earliest call whose result has not been taken.

        Raises StopIteration if there is none, and TimeoutError after `timeout` seconds; with `ignore_if_timedout` the
        late result is discarded.
        """
        self._expect_a_result()
        first = next(iter(self._open))
        if timeout is not None and not nbaccel.wait([first.first_ref], timeout=timeout)[0]:
            self._timed_out(first if ignore_if_timedout else None, timeout)
        return self._take(first)

    def get_next_unordered(self, timeout: float | None = None, ignore_if_timedout: bool = False) -> Any:
        """Any result that is ready; raises as `get_next` does."""
        self._expect_a_result()
        ready, _ = nbaccel.wait(list(self._running), num_returns=1, timeout=timeout)
        if not ready:
            self._timed_out(next(iter(self._running.values())) if ignore_if_timedout else None, timeout)
        return self._take(self._running[ready[0]])

    def has_free(self) -> bool:
        """Whether an actor waits for work."""
        return bool(self._idle)

    def pop_idle(self) -> Any:
        """Takes an idle actor out of the pool; None if all are busy."""
        if not self._idle:
            return None
        actor = self._idle.popleft()
        self._all.remove(actor)
        return actor

    def push(self, actor: Any) -> None:
        """Adds an actor. Raises ValueError if it belongs to the pool already."""
        if actor in self._all:
            raise ValueError(f"{actor} already belongs to this ActorPool.")
        self._all.append(actor)
        self._give_back(actor)

    def _expect_a_result(self) -> None:
        if not self._open:
            raise StopIteration("No more results to get")
        if not self._all:
            raise RuntimeError(
                f"No actor is left in this pool (they died or were taken out), but {len(self._open)} calls wait for "
                "one. Add an actor with push()."
            )

    def _take(self, call: _Submission) -> Any:
        self._close(call)
        try:
            result = nbaccel.get(call.ref)
        except RayActorError:
            self._all.remove(call.actor)  # dead or out of reach: the others take its work
            raise
        except BaseException:
            self._give_back(call.actor)
            raise
        self._give_back(call.actor)
        return result

    def _timed_out(self, given_up: _Submission | None, timeout: float | None) -> None:
        if given_up is None:
            raise TimeoutError(f"Timed out waiting for result: none came within {timeout} s.")
        self._close(given_up)
        self._give_back(given_up.actor)
        raise TimeoutError(f"Timed out waiting for result: none came within {timeout} s, {given_up.ref} is given up.")

    def _give_back(self, actor: Any) -> None:
        self._idle.append(actor)
        self._start_waiting()

    def _start_waiting(self) -> None:
        while self._idle and self._waiting:
            call = self._waiting.popleft()
            call.actor = self._idle.popleft()
            call.ref = call.fn(call.actor, call.value)
            self._running[call.first_ref] = call

    def _close(self, call: _Submission) -> None:
        del self._open[call]
        del self._running[call.first_ref]

    def _drop_earlier(self) -> None:
        self._waiting.clear()
        self._idle.extend(call.actor for call in self._running.values())
        self._running.clear()
        self._open.clear()

    def _results(self, take: Callable[[], Any]) -> Iterator[Any]:
        while self.has_next():
            yield take()

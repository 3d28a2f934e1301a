"""The answers to what came straight: to the caller, or to the head if that has to know more than that a call has ended.

```
  small value, nothing said to the head ──► caller                     (an asyncio actor's: once for a turn of its loop)
  all else ──► head: CallTold, unless it knows of the call, and Done ──► caller: that the head has the result
```
If the caller has closed the connection, everything goes to the head.
"""

from __future__ import annotations

from nbaccel.local_engine import wire
from nbaccel.local_engine.worker.worker_link import StraightRun, WorkerLink

Answer = wire.StraightAnswer | wire.Done


class StraightAnswers:
    """Answers the caller of this process."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link
        self._held: list[tuple[Answer, wire.Done, StraightRun]] = []

    def answer(self, done: wire.Done) -> bool:
        """Answer what came straight; False if it came through the head."""
        call = self._link.ends_straight(done.task_id)
        if call is None:
            return False
        answer = _short(done, call)
        if answer is None or not call.straight.answer([answer]):
            self._to_head(done, call)
            self._link.flush()
            call.straight.answer([wire.Done(done.task_id, [])])
        return True

    def hold(self, done: wire.Done) -> bool:
        """The same with the next `flush`. What the head has to know is queued at once."""
        call = self._link.ends_straight(done.task_id)
        if call is None:
            return False
        answer = _short(done, call)
        if answer is None:
            self._to_head(done, call)
            answer = wire.Done(done.task_id, [])
        self._held.append((answer, done, call))
        return True

    def flush(self) -> None:
        """Send what was held, after all that is said to the head."""
        self._link.flush()
        held, self._held = self._held, []
        if not held or held[0][2].straight.answer([answer for answer, _, _ in held]):
            return
        for answer, done, call in held:
            if type(answer) is wire.StraightAnswer:
                self._to_head(done, call)
        self._link.flush()

    def _to_head(self, done: wire.Done, call: StraightRun) -> None:
        if not call.is_told:
            self._link.say_later(call.told())
        self._link.say_later(done)


def _short(done: wire.Done, call: StraightRun) -> Answer | None:
    """The answer, if it may go to the caller: one small value without refs, of code that has said nothing."""
    if call.is_told or done.failed or done.exiting or len(done.results) != 1:
        return None
    result = done.results[0]
    data = result.value.data
    if data is None or result.refs:
        return None
    return wire.StraightAnswer(done.task_id, data, done.times)

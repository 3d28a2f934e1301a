"""Messages on a connection between a driver and its actor, and what the head is told of it."""

from __future__ import annotations

import msgspec

from nbaccel.local_engine.wire.message_parts import Message, Value


class StraightSubmit(Message, tag="C"):
    """Call an actor, straight: what of a Submit such a call needs. Thousands of these are sent in a second."""

    task_id: bytes
    template: int
    args: bytes
    straight: int


class StraightAnswer(Message, tag="A"):
    """A straight call of an actor has returned a small value without refs, and has said nothing to the head."""

    task_id: bytes
    data: bytes
    times: list[float]  # as in Done


class StraightCall(msgspec.Struct, array_like=True, gc=False):
    """A call that went straight to its actor, as the head is told of it."""

    task_id: bytes
    template: int  # the caller's number
    actor_id: bytes
    sent_at: float  # Unix seconds
    times: list[float] = []  # once it has ended: Done.times
    value: Value | None = None  # its result, if the head had promised it to others


class StraightNews(Message):
    """What a caller tells of its straight calls, in batches. Each call is told until it has ended or is known."""

    opened: list[StraightCall] = []  # under way
    ended: list[StraightCall] = []  # returned, and the result is with the caller
    known: list[bytes] = []  # tasks whose results the head has, as the actor told the caller
    promised: list[bytes] = []  # open tasks whose results others may ask for


class CallTold(Message):
    """An actor tells of a straight call, before it says anything else on the call's behalf."""

    call: StraightCall


class Connected(Message):
    """The end of a connection between an actor and its caller comes with this message, as a descriptor."""

    actor_id: bytes
    socket: int  # the descriptor's inode: of several that come, and of which some may be lost, it is this one

"""The other end of a link: its messages, its name in sentences, and the error if it goes away."""

from __future__ import annotations

from dataclasses import dataclass

from nbaccel import exceptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.wire.framing import Decode


@dataclass(frozen=True, slots=True)
class FarEnd:
    """The head, or a worker that calls this process or is called by it."""

    name: str  # "the head"
    decode: Decode  # its frames
    error: type[Exception]  # the error of pending questions when the far end has gone


HEAD = FarEnd("the head", wire.decode_to_client, exceptions.HeadDiedError)


def caller(name: str) -> FarEnd:
    """A process that sends calls directly to the actor in this process."""
    return FarEnd(name, wire.decode_to_callee, exceptions.OwnerDiedError)


def callee(name: str) -> FarEnd:
    """The worker of an actor to which this process sends calls directly."""
    return FarEnd(name, wire.decode_to_caller, exceptions.ActorUnavailableError)

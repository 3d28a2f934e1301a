"""How a question ends that gets no answer now: refused in words, or put off."""

from __future__ import annotations


class Refusal(Exception):
    """A question that gets an error: the class to raise at the asker's, and the words."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Later(Exception):
    """A question on a named actor that is on its way: it is asked again when the actor has come, or will not."""

    def __init__(self, actor_id: bytes) -> None:
        super().__init__()
        self.actor_id = actor_id

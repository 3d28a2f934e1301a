"""Cases made by chance: messages of our language with odd fields, and bytes that are nearly, or not at all, ours."""

from __future__ import annotations

import enum
import json
import random
import types
import typing
from typing import Any

import msgspec

from nbaccel.local_engine import wire

TEXTS = ("", "a", "f", "é", "\u6f22", "\0", "CPU", "GPU", "x" * 300, "../../etc", "{}", "watch", "%s%n")
INTEGERS = (0, 1, -1, 2, 3, 99, 255, 65_536, 2**31, 2**32 - 1, 2**40, 2**63 - 1, -(2**63))
# What a driver may ask for by right, and what would end the head or the fuzzer's own work.
NOT_SENT = {"stop_head", "recycle"}
_REFERRED = ("number", "template")


class Cases:
    """Everything comes from one seeded generator: the same seed, the same cases."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.ids: list[bytes] = [bytes(28), b"\xff" * 24]
        self.texts: list[str] = list(TEXTS)

    # ---- messages

    def message(self, kinds: tuple[type, ...]) -> Any:
        """A message of one of these kinds, each field of its own type but of any value."""
        return self._struct(self.rng.choice(kinds))

    def _struct(self, kind: type) -> Any:
        hints = typing.get_type_hints(kind)
        fields = msgspec.structs.fields(kind)
        given: dict[str, Any] = {}
        for field in fields:
            if field.name in _REFERRED and self.rng.random() < 0.7:  # else hardly any submission meets its template
                given[field.name] = self.rng.choice((1, 2))
            elif field.required or self.rng.random() < 0.6:
                given[field.name] = self.of_type(hints[field.name])
        made = kind(**given)
        if isinstance(made, wire.Bye):
            made.stop_head = False
        if isinstance(made, wire.QuestionMessage) and made.what in NOT_SENT:
            made.what = "sync"
        return made

    def of_type(self, hint: Any) -> Any:
        """Any value of a type that occurs on the wire."""
        rng = self.rng
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (types.UnionType, typing.Union):
            return self.of_type(rng.choice(arguments))
        if origin is list:
            return [self.of_type(arguments[0]) for _ in range(rng.choice((0, 1, 1, 2, 5)))]
        if origin is dict:
            return {self.of_type(arguments[0]): self.of_type(arguments[1]) for _ in range(rng.choice((0, 1, 2)))}
        if origin is tuple and arguments[-1] is Ellipsis:
            return tuple(self.of_type(arguments[0]) for _ in range(rng.choice((0, 1, 1, 2, 5))))
        if origin is tuple:
            return tuple(self.of_type(argument) for argument in arguments)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return rng.choice(list(hint))
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            return self._struct(hint)
        return self._plain(hint)

    def _plain(self, hint: Any) -> Any:
        rng = self.rng
        if hint is bool:
            return rng.random() < 0.5
        if hint is int:
            return rng.choice(INTEGERS) if rng.random() < 0.8 else rng.randrange(-1000, 1000)
        if hint is float:
            return rng.choice((0.0, 1.0, -1.0, 0.5, 1e308, float("inf"), float("nan")))
        if hint is str:
            return rng.choice(self.texts)
        if hint is bytes:
            return self._bytes()
        return None

    def _bytes(self) -> bytes:
        rng = self.rng
        choice = rng.randrange(4)
        if choice == 0:
            return rng.choice(self.ids)
        if choice == 1:
            return msgspec.msgpack.encode(self.plain_value())
        return rng.randbytes(rng.choice((0, 1, 24, 28, 100)))

    def plain_value(self, depth: int = 3) -> Any:
        """Anything that MessagePack and JSON can both say."""
        rng = self.rng
        kind = rng.randrange(8 if depth else 5)
        if kind < 5:
            return rng.choice(
                (None, True, rng.choice(INTEGERS), 1.5, rng.choice(self.texts), rng.choice(self.ids).hex())
            )
        if kind == 5:
            return {rng.choice(self.texts): self.plain_value(depth - 1) for _ in range(rng.randrange(4))}
        return [self.plain_value(depth - 1) for _ in range(rng.randrange(4))]

    # ---- frames

    def frame(self, kinds: tuple[type, ...]) -> bytes:
        """A frame that is ours, nearly ours, or not at all."""
        rng = self.rng
        choice = rng.randrange(10)
        if choice < 4:
            return bytes(wire.frame([self.message(kinds) for _ in range(rng.choice((1, 1, 2, 5)))]))
        if choice < 7:
            kinds = tuple(kind for kind in kinds if kind is not wire.Bye)  # one turned bit would stop the head
            return self.mutated(bytes(wire.frame([self.message(kinds)])))
        if choice == 7:
            return self.framed(self._deep())
        if choice == 8:
            return self.framed(msgspec.msgpack.encode(self.plain_value()))
        return rng.randbytes(rng.choice((1, 3, 4, 5, 64, 5000)))

    def framed(self, body: bytes) -> bytes:
        length = (
            len(body) if self.rng.random() < 0.7 else self.rng.choice((0, 1, len(body) + 1, 2**16, 2**30, 2**32 - 1))
        )
        return length.to_bytes(4, "little") + body

    def _deep(self) -> bytes:
        depth = self.rng.choice((10, 900, 1100, 20_000))
        start = self.rng.choice((b"", b"\x91\x93\xa3Bye\xc2", b"\x91\x92\xa8Releases"))
        return start + self.rng.choice((b"\x91", b"\x81\xa1a")) * depth + self.rng.choice((b"\xc0", b""))

    def mutated(self, data: bytes) -> bytes:
        """Some bytes changed, cut out, put in or doubled."""
        rng = self.rng
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            place = rng.randrange(len(changed)) if changed else 0
            what = rng.randrange(4)
            if what == 0 and changed:
                changed[place] = rng.randrange(256)
            elif what == 1:
                del changed[place : place + rng.choice((1, 4, 100))]
            elif what == 2:
                changed[place:place] = rng.choice(
                    (b"\xc6\xc6", b"\0", b"\xff" * 8, b"\n", b"\x91" * 50, rng.randbytes(5))
                )
            else:
                changed[place:place] = changed[place : place + 50]
        return bytes(changed)

    # ---- lines

    def line(self, request: dict[str, Any]) -> bytes:
        """A line of JSON that is ours, nearly ours, or not at all."""
        rng = self.rng
        text = json.dumps(request).encode()
        choice = rng.randrange(10)
        if choice < 4:
            return text + b"\n"
        if choice < 7:
            return self.mutated(text) + b"\n"
        if choice == 7:
            return b'{"a":' + b"[" * rng.choice((10, 1100, 60_000)) + b"\n"
        if choice == 8:
            return json.dumps(self.plain_value()).encode() + b"\n"
        return rng.choice((b"\n", b"\r\n", b"{", b"{}\n", b"x" * 70_000, rng.randbytes(50), b'{"\xc6": 1}\n'))

    def pieces(self, data: bytes) -> list[bytes]:
        """The data as it may arrive."""
        if self.rng.random() < 0.7 or len(data) < 2:
            return [data]
        cut = self.rng.randrange(1, len(data))
        return [data[:cut], data[cut:]]

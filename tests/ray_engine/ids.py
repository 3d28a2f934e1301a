"""Ids of Ray's for tests that run without Ray."""

from __future__ import annotations


class Id:
    """As Ray's ids are."""

    def __init__(self, number: int) -> None:
        self._bytes = number.to_bytes(24, "big")

    def binary(self) -> bytes:
        return self._bytes

    def hex(self) -> str:
        return self._bytes.hex()

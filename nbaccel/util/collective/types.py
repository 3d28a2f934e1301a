"""How collective operations are asked for: the libraries, and how tensors are put together."""

from __future__ import annotations

from enum import Enum
from importlib.util import find_spec


class Backend:
    """The libraries that carry the operations out; `Backend("gloo")` is "GLOO". Raises ValueError for another."""

    NCCL = "NCCL"
    GLOO = "GLOO"
    UNRECOGNIZED = "unrecognized"

    def __new__(cls, name: str) -> str:  # type: ignore[misc]
        wanted = name.upper().removeprefix("TORCH_")
        if wanted not in (cls.NCCL, cls.GLOO):
            raise ValueError(f"Unrecognized backend {name!r}: choose {cls.NCCL} or {cls.GLOO}.")
        return wanted


class ReduceOp(Enum):
    """How tensors are put together."""

    SUM = 0
    PRODUCT = 1
    MIN = 2
    MAX = 3


def torch_available() -> bool:
    return find_spec("torch") is not None


def cupy_available() -> bool:
    return find_spec("cupy") is not None

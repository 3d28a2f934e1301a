"""The type variables of remote code; what they mean to type checkers is in signatures.pyi."""

from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R, Submitted, T, Code = (TypeVar(name, covariant=True) for name in ("R", "Submitted", "T", "Code"))
AnythingElse = object

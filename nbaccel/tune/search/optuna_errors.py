"""Says what Optuna and its storages refuse, with the parameter or the storage and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_REFUSES_OTHER_VALUES = "check_distribution_compatibility"  # Optuna's function, whose messages name no parameter
_PASSWORD = re.compile(r"(://[^:/@]+):[^@]*@")


class WithPassword:
    """The URL of a storage that has a password: a journal keeps its repr, which has none."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __repr__(self) -> str:
        return _PASSWORD.sub(r"\1:…@", repr(self._url))


def without_password(storage: Any) -> Any:
    """What a journal may keep of a storage."""
    return WithPassword(storage) if isinstance(storage, str) and _PASSWORD.search(storage) else storage


def not_opened(storage: Any, error: BaseException) -> ValueError:
    """The error of a storage that cannot be opened, without a password that its URL may have."""
    first = next(iter(str(error).strip().splitlines()), "")
    said = without_password(storage)
    return ValueError(
        f"OptunaSearch(storage={said!r}) cannot be opened: {type(error).__name__}: {first.rstrip('.')}. "
        "It is a storage object of Optuna or a URL: 'sqlite:///study.db' is a file in this folder, "
        "'sqlite:////data/study.db' one with a whole path, whose folder must exist. Other databases need their own "
        "package, such as psycopg2 for PostgreSQL."
    )


def refuse_other_goals(study: Any, modes: Sequence[str]) -> None:
    """Raises ValueError if a study of a storage has been made for other goals."""
    there = ["min" if each.name == "MINIMIZE" else "max" for each in study.directions]
    if there != list(modes):
        does = " and ".join("minimizes" if each == "min" else "maximizes" for each in there)
        wanted = " and ".join(repr(each) for each in modes)
        raise ValueError(
            f"The study {study.study_name!r} in OptunaSearch(storage=...) {does}, but the experiment's mode is "
            f"{wanted}: give that mode, or begin another study, OptunaSearch(study_name=...)."
        )


def of_asking(error: ValueError, study: Any, distributions: Mapping[str, Any]) -> ValueError:
    """The error to raise when Optuna was asked for a config; `error` itself unless a parameter has changed its values.

    distributions  those of a space; a function of a trial has made its own
    """
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None or frame.tb_frame.f_code.co_name != _REFUSES_OTHER_VALUES:
        return error
    before: dict[str, Any] = {name: kind for each in study.trials for name, kind in each.distributions.items()}
    changed = [name for name, kind in distributions.items() if name in before and _differs(before[name], kind)]
    if not changed:  # of a function, which has not got to the other parameters of this trial
        changed = [name for name in before if name not in study.trials[-1].distributions]
    names = " or ".join(repr(name) for name in changed) or "(unknown)"
    here = [f"{_said(distributions[name])} now, " for name in changed if name in distributions]
    earlier = "; ".join(_said(before[name]) for name in changed)
    return ValueError(
        f"The parameter {names} has other values than in earlier trials of the study {study.study_name!r} "
        f"({''.join(here)}{earlier} before), and Optuna keeps the kind and the choices of a parameter for a whole "
        "study. Give the parameter another name, or begin another study, OptunaSearch(study_name=...). A function can "
        "suggest all choices in each trial and use some of them."
    )


def _differs(one: Any, other: Any) -> bool:
    if type(one) is not type(other) or getattr(one, "log", None) != getattr(other, "log", None):
        return True
    return hasattr(one, "choices") and one != other


def _said(distribution: Any) -> str:
    if hasattr(distribution, "choices"):
        return ", ".join(repr(each) for each in distribution.choices)[:200]
    return repr(distribution)

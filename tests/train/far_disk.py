"""A setup hook: the worker is as on a machine with a disk of its own, where the run's folder cannot be reached."""

from __future__ import annotations

from typing import Any, NoReturn

from nbaccel.train import storage


def leave() -> None:
    own_folder = storage.own_folder

    def not_here(run_folder: str, probe: str) -> str:
        return own_folder("/a/folder/of/another/machine", probe)

    def brought(*args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError("this worker has no way into the run's folder")

    storage.own_folder, storage.bring = not_here, brought

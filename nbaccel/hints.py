"""Hints of libraries to the engine, which may use them to be ready sooner. Not in Ray."""

from __future__ import annotations

from collections.abc import Sequence

from nbaccel import engine as engines


def expect_imports(modules: Sequence[str]) -> None:
    """Tasks and actors will import these modules: workers to come may then have them loaded already.

    It takes no time and starts no cluster; without one the hint is for the next.
    """
    engines.expect_imports(modules)

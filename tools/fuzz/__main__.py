"""Run every fuzzer of this folder, for an equal share of the time."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

import tools.fuzz


def fuzzers() -> list[ModuleType]:
    """The modules beside this one that have `run(seconds, seed)`."""
    names = sorted(found.name for found in pkgutil.iter_modules(tools.fuzz.__path__) if found.name != "__main__")
    modules = [importlib.import_module(f"tools.fuzz.{name}") for name in names]
    return [module for module in modules if hasattr(module, "run")]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {Path(__file__).parent.name}", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for all fuzzers together")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same cases")
    parser.add_argument("--only", default="", help="the name of one fuzzer")
    asked = parser.parse_args(arguments)
    chosen = [module for module in fuzzers() if asked.only in ("", module.__name__.rpartition(".")[2])]
    if not chosen:
        parser.error(f"there is no fuzzer {asked.only!r}")
    for module in chosen:
        share = asked.seconds / len(chosen)
        sys.stdout.write(f"{module.__name__}: {share:.0f} s with seed {asked.seed}\n")
        sys.stdout.flush()
        module.run(share, asked.seed)


if __name__ == "__main__":
    main(sys.argv[1:])

"""`import ray` gives nbaccel: what a user reaches by changing import lines, for packages whose lines are not ours."""

import importlib
import importlib.abc
import importlib.util
import sys

import nbaccel


class Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname, path=None, target=None):
        return importlib.util.spec_from_loader(fullname, self) if fullname.startswith("ray.") else None

    def create_module(self, spec):
        return importlib.import_module("nbaccel" + spec.name.removeprefix("ray"))

    def exec_module(self, module):
        """It was executed under its own name."""


sys.meta_path.insert(0, Alias())
sys.modules["ray"] = nbaccel

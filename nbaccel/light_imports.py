"""Lighter imports for Ray's processes: a stand-in for a package that slows their start and is hardly ever used.

Next to JupyterLab, `import ray` takes four times as long as without: jsonschema, which Ray imports, finds JupyterLab's
`rfc3987_syntax`, and that compiles a grammar at each import. Every process of Ray's pays for it, so that starting Ray
and each task in a fresh process takes seconds more. See ray_engine/stand_ins/ for what is put in its place.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).parent / "ray_engine" / "stand_ins"
_NAMES = tuple(sorted(each.name for each in FOLDER.iterdir() if (each / "__init__.py").exists()))


@contextmanager
def lighter_imports() -> Iterator[None]:
    """What is imported while it lasts, and processes that are started meanwhile, find the stand-ins first."""
    if not any(name in sys.modules or importlib.util.find_spec(name) for name in _NAMES):
        yield
        return
    folder, before = str(FOLDER), os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, before] if before else [folder])
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        if before is None:
            os.environ.pop("PYTHONPATH", None)
        else:
            os.environ["PYTHONPATH"] = before
        for name in _NAMES:
            if str(getattr(sys.modules.get(name), "__file__", "")).startswith(folder):
                del sys.modules[name]  # a later import gets the package itself

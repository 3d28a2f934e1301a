"""Ray is imported here as the engine imports it, before any test module asks for it."""

from __future__ import annotations

import contextlib

from nbaccel.ray_engine.starting import import_ray

with contextlib.suppress(ImportError):  # the modules that need it are skipped, with the reason
    import_ray()

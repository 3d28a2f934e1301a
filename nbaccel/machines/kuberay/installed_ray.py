"""Which Ray is installed here, without importing it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_BEFORE, _AFTER = "ray-", ".dist-info"


def installed_ray() -> str:
    """The version of this machine's Ray; empty where there is none.

    It stands in the name of the folder that describes the distribution; importlib.metadata, which reads the same, takes
    longer to import than a manifest takes to be written.
    """
    for folder in sys.path:
        with suppress(OSError):
            for name in os.listdir(folder or "."):
                if name.startswith(_BEFORE) and name.endswith(_AFTER):
                    return name.removeprefix(_BEFORE).removesuffix(_AFTER)
    return ""

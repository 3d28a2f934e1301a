"""The path of the installed package: for `sys.path` of started processes, and to recognise nbaccel's own frames."""

from __future__ import annotations

import os

PACKAGE = os.path.dirname(os.path.abspath(__file__))
SYS_PATH_ENTRY = os.path.dirname(PACKAGE)  # with it in sys.path, `import nbaccel` finds this package

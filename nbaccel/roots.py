"""Where the installed package lies: for `sys.path` of started processes, and to tell our own frames from the user's."""

from __future__ import annotations

import os

PACKAGE = os.path.dirname(os.path.abspath(__file__))
SYS_PATH_ENTRY = os.path.dirname(PACKAGE)  # with it in sys.path, `import nbaccel` finds this package

"""The debug engine: every task runs in this process, one after the other, so that breakpoints and `%debug` work.

```
  f.remote() ──► Scheduler (the local engine's own) ── SendTasks ──► Stage ──► the function, here and now
                     ▲                                                │
                     └──────────── TasksReturned ◄─────────────────────┘
```
Everything else is decided and pickled as on the local engine. A call runs inside `.remote()`, a stream when it is read;
a deadlock raises an error instead of waiting. `os._exit()` in a task ends the only process.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbaccel.debug_engine.engine import DebugEngine
    from nbaccel.handles.options import InitOptions


def start(options: InitOptions) -> DebugEngine:
    """Raises ValueError for an address, and for devices that this machine cannot offer."""
    from nbaccel.debug_engine.engine import DebugEngine

    if options.address not in (None, "local"):
        raise ValueError(f"engine='debug' runs in this process and cannot join {options.address!r}: give no address.")
    sys.path[:0] = [entry for entry in options.code_search_path if entry not in sys.path]
    return DebugEngine(options)

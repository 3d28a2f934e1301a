"""The debug engine: every task runs in this process, one after the other, so that breakpoints and `%debug` work.

```
  f.remote() ──► Scheduler (the local engine's own) ── SendTask ──► Stage ──► the function, here and now
                     ▲                                                │
                     └──────────── TaskReturned ◄─────────────────────┘
```
Placement, devices, placement groups, actors and retries are decided as on the local engine. Arguments and results are
pickled as there, so that nothing is shared by accident. Three things differ: a call runs inside `.remote()`, a stream
runs when it is read, and a deadlock raises an error instead of waiting. `os._exit()` in a task ends the only process.
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
        raise ValueError(
            f"engine='debug' runs all in this process and cannot join {options.address!r}: leave the address out."
        )
    sys.path[:0] = [entry for entry in options.code_search_path if entry not in sys.path]
    return DebugEngine(options)

"""A Jupyter Server extension that knows every head of nbaccel on this machine, also while kernels are busy.

```
  tabs ◄── api.py, stream.py ──► watching.py ──► runtimes.py    finds the files of heads
                                      │    └──► connection.py   one connection to each head
                                      └───────► sampling.py     a process that reads devices where no head does
```
It imports nothing of nbaccel, which lives in the environments of the kernels.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.2.0"


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    from nbaccel_lab.app import NbaccelLab

    return [{"module": "nbaccel_lab", "app": NbaccelLab}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "@nbaccel/lab"}]

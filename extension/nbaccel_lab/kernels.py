"""Which kernel of this server, and which notebook, a runtime belongs to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jupyter_core.utils import ensure_async

MOST_PARENTS = 8  # a kernel may have been started by a script, which was started by another
Owner = tuple[str, str]  # (the kernel's id, the notebook's path)


class Kernels:
    """The kernels of a server. Both managers are those of the server."""

    def __init__(self, kernel_manager: Any, session_manager: Any) -> None:
        self._kernels = kernel_manager
        self._sessions = session_manager

    def running(self) -> frozenset[str]:
        return frozenset(self._kernels.list_kernel_ids()) if self._kernels is not None else frozenset()

    async def owners(self, pids: set[int]) -> dict[int, Owner]:
        """The kernel and notebook of each of these processes that belongs to a kernel of the server."""
        kernels = {pid: id for id in self.running() if (pid := self._pid(id))}
        if not kernels or not pids:
            return {}
        notebooks = await self._notebooks()
        found = {}
        for pid in pids:
            id = next((kernels[one] for one in _with_parents(pid) if one in kernels), "")
            if id:
                found[pid] = (id, notebooks.get(id, ""))
        return found

    def _pid(self, kernel_id: str) -> int:
        """The process of a kernel; 0 for one that does not run on this machine."""
        provisioner = getattr(self._kernels.get_kernel(kernel_id), "provisioner", None)
        pid = getattr(provisioner, "pid", None)
        return pid if isinstance(pid, int) else 0

    async def _notebooks(self) -> dict[str, str]:
        sessions = await ensure_async(self._sessions.list_sessions())
        return {each["kernel"]["id"]: str(each["path"]) for each in sessions if each.get("kernel")}


def _with_parents(pid: int) -> list[int]:
    """A process and those that started it, nearest first."""
    line = [pid]
    for _ in range(MOST_PARENTS):
        try:
            facts = Path(f"/proc/{line[-1]}/stat").read_text(errors="replace").rpartition(")")[2].split()
            parent = int(facts[1])
        except (OSError, IndexError, ValueError):
            break
        if parent <= 1 or parent == os.getpid():
            break
        line.append(parent)
    return line

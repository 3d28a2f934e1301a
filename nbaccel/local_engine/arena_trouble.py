"""Why a process cannot write to the arena or map a part of it, in words."""

from __future__ import annotations

import errno
import resource

_LIMITED = {
    errno.EMFILE: ("RLIMIT_NOFILE", "open {} files at most", "a mapping takes one"),
    errno.EFBIG: ("RLIMIT_FSIZE", "write files of {} bytes at most", "shared memory counts as a file"),
}
_ADVICE = "Set the limit in a subprocess, or take it back before the value is used."


def why(error: OSError) -> str:
    """One or two sentences that name the cause and what to do."""
    limited = _LIMITED.get(error.errno or 0)
    if limited is not None:
        name, what, because = limited
        limit = resource.getrlimit(getattr(resource, name))[0]
        return f"this process may {what.format(limit)} ({name}), and {because}. {_ADVICE}"
    if error.errno == errno.EBADF:
        return (
            "code in this process has closed descriptors that are not its own, as os.closerange does, and among them "
            "nbaccel's (a closed descriptor). Close only what was opened here."
        )
    if error.errno == errno.ENOMEM:
        return f"{error.strerror}. {_no_memory()}"
    return f"{error.strerror or error}."


def _no_memory() -> str:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        return f"This process may use {limit} bytes of address space (RLIMIT_AS). {_ADVICE}"
    return "Let go of large arrays that you no longer need: a process can map some 65,000 (sysctl vm.max_map_count)."

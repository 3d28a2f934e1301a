"""A program that replaces itself by another one, which then gets SIGTERM when the process that started it has ended.

    python -I -S with_parent.py PID-OF-THE-PARENT PROGRAM ARGUMENT...

It runs between fork and exec, where a process with threads may not run Python.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):  # it ended before this was said
        sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()

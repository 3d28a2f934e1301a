"""The local engine: one machine, a head process, forked workers, shared memory.

```
 notebook kernel (driver) ─┐                         ┌─► worker ─┐
 another notebook (driver) ─┼─ unix socket ─► head ──┼─► worker ─┼─ large objects: one arena of shared memory
 observers (JSON lines)    ─┘                 │ │ │  └─► worker ─┘
                                              │ │ └─► log, mover   (workers' output; objects to disk and back)
                                              │ └───► prober       (asks the devices; may hang or crash alone)
                                              └─────► zygote       (forks all of them)
```
Each process has a room: `driver`, `worker`, `head`, `side_processes`. `client` has the code that drivers and workers
share, and `wire` the messages of all. Read in this order: wire, head.parts, head.tasks, worker, client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbaccel.handles.options import InitOptions
    from nbaccel.local_engine.driver.engine import Driver
    from nbaccel.views import sessions


def start(options: InitOptions) -> Driver:
    """Start a head for this process, or join the one that `address` names. Raises ConnectionError when there is
    none.
    """
    from nbaccel import addresses

    if addresses.is_own(options.address):
        from nbaccel.local_engine.driver import launch

        started = launch.embedded(options)
        try:
            from nbaccel.local_engine.driver import engine as driver  # while the head boots
        except BaseException:  # a Ctrl-C during the start: nobody would ever use this head
            launch.discard(started.process, started.config)
            raise
        return driver.take_over(started, options)
    from nbaccel.local_engine.driver import engine as driver

    return driver.join(addresses.head_named(str(options.address)), options)


def start_shared(options: InitOptions, *, with_us: bool = False) -> sessions.SessionRecord:
    """Start a head that several notebooks may share; it outlives this process, or ends `with_us`. Raises ValueError."""
    from nbaccel.local_engine.driver import engine as driver

    return driver.start_daemon(options, with_us=with_us)

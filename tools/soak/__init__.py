"""Soaking: heads with random work on them while their processes are killed, stopped and cancelled at random.

```
  round ── a machine with two AMD cards made of files, a shared head
   ├── work      tasks, streams, actors, objects, placement groups, devices; every result is checked
   ├── drivers   the same work in another program, which is killed now and then
   ├── faults    kill -9 and SIGSTOP/SIGCONT of workers, zygote, log, prober, mover, observers, drivers, the head (stop)
   └── at the end: no object, no task, every resource and the whole arena free; no process, lease, session, directory
```
`make soak MINUTES=1 SEED=1`. The seed chooses the work and the faults; when a fault meets which work is the machine's.
"""

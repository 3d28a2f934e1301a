"""The head: the one process that knows the state of the cluster. The scheduler decides, this acts.

```
                           ┌──► objects/  what is put, wanted, held          ──┐
  peers ──► connections ───┼──► tasks/    what is submitted and returned     ──┼─ events ──► decisions ──► Scheduler
            (authenti-     ├──► actors, groups, jobs, worker_processes       ──┘                              │
             cated first)  └──► question_table ► snapshot_builder, reasons, rows                             commands
  peers ◄── connections ◄── objects/, tasks/, actors, worker_processes, devices/ ◄────────── orders ◄──────────┘
```
Each component gets what it needs by its constructor. `wiring` alone knows them all and puts them together; read it
first, then `loop`, which is the head's life. Nothing here runs the user's code or unpickles the user's data.
"""

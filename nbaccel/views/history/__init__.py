"""The history of a cluster: runs of tasks, readings and users of devices, in fixed memory however long it lives.

```
  an engine ── a run that ended, a reading ──► HistoryBook ──┬── kinds      exact numbers: function, cell, state
                                                             ├── runs       what ran when; bars merge with age
                                                             ├── waits      how many tasks waited when
                                                             └── readings   load, memory, power of two minutes
  a view that is open ── ReadRuns, ReadAccounting, ReadReadings, `since` ──► an answer that is small enough for a page
```
A snapshot holds the present only; a view that shows the past asks for it. Nothing here has a clock or knows an engine.
"""

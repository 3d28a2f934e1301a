"""Where the machines of a growing Ray cluster come from: jobs of Slurm, and machines that ssh reaches.

```
  machines.toml ──► ray_head ──► Ray's autoscaler ──► provider ──► growing_machines
                                                                               │ begin, end, look
                                                              slurm_source ◄───┴───► ssh_source
                                                                    └──► node_program ◄──┘   runs on the machine
```

Ray's autoscaler decides how many nodes of which type there are. The provider begins and ends them, and says in words
why one has not come. `node_program` is sent to the machine, which needs Python and Ray and nothing of nbaccel.
"""

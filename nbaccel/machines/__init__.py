"""What brings machines to a Ray cluster.

```
  joining         the token of this machine, and whether a cluster would let it in
  ray_head        a head of a Ray cluster on this machine, also of one that grows
  node_commands   `nbaccel start` and `status` for Ray; this machine as a node of a Ray cluster
  ray_processes   the processes of a head or a node: started one after the other
  node_records    the record of each of them, by which exactly these are found and ended
  sources/        machines of Slurm and of ssh, which Ray's autoscaler asks for
  kuberay/        a RayCluster for Kubernetes: written, checked, connected to
```

Nothing here decides where a task runs, and no engine is imported.
"""

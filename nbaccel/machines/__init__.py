"""What brings machines to a Ray cluster.

```
  joining      the token of this machine, and whether a cluster would let it in
  ray_node     this machine as a node of a Ray cluster
  kuberay/     a RayCluster for Kubernetes: written, checked, connected to
```

Nothing here decides where a task runs, and no engine is imported.
"""

"""What brings machines to a Ray cluster.

```
  kuberay/     a RayCluster for Kubernetes: written, checked, connected to
```

Nothing here decides where a task runs, and no engine is imported.
"""

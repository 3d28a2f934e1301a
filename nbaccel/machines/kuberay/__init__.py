"""RayClusters for Kubernetes: `nbaccel kuberay …`.

```
  commands ──► type_groups ────┐
               legacy_values ──┴─► manifest ──► yaml_files ──► a file for kubectl
  commands ──► yaml_files ──► check ──► schema_check     what the API server refuses
                                  ├──► operator_rules    what KubeRay's operator refuses
                                  └──► ray_reading       what Ray's autoscaler makes of it
  rehearsal: a RayCluster of a file, played on this machine by Ray's own autoscaler
  commands ──► connecting ──► tunnel ──► kubectl          token and tunnel for a notebook outside
  device_plugins: the names that accelerators have in Kubernetes, and in Ray
```

Importing this package loads neither ray nor a YAML library.
"""

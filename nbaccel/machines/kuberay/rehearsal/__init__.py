"""A RayCluster played on this machine: `nbaccel kuberay rehearse`.

```
  Ray's own autoscaler ──HTTPS──► api_server ──► played_cluster: the RayCluster and its pods, as Kubernetes shows them
                                                     ▲
  play: one loop ── operator: which pods come and go ┘
    └──► processes: the head, the autoscaler and the pods ◄── pod_lines: what each of them is started with
```

The autoscaler does not know that this is no Kubernetes: it reads the RayCluster, lists pods, and asks for other numbers
of replicas by PATCH. Each pod is a `ray start` process with the resources that Ray reads from the manifest.
"""

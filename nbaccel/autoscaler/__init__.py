"""Ray's path for asking a cluster to grow: see `nbaccel.autoscaler.sdk`."""

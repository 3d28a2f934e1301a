"""The head's devices: what each node has, leases and measurements of real devices, and the variables of a task."""

"""The head's devices: what the nodes have, the leases of real devices, looks at them, and the variables of a task."""

"""The driver: starting or joining a head, and the connection for output, notices and snapshots."""

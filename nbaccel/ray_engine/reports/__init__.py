"""What comes back from Ray: what tasks report, what workers print, and the snapshot and reasons drawn from both."""

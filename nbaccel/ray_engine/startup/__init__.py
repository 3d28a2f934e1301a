"""Starts a Ray here or joins one elsewhere, and watches whether its head is alive."""

"""Submits functions, actors, groups and values to Ray, and chooses among their choices."""

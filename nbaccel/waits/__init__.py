"""Waiting for one ref or many, in order of completion, with a bar, as futures; the Stop button always works."""

"""Waiting: for one ref or many, in order of completion, with a bar, as futures, and so that Stop is always heard."""

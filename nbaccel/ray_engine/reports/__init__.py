"""Reads Ray's answers: reports of tasks, output of workers, and the snapshot and reasons made from them."""

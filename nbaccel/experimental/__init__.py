"""Ray's path for what may still change: `tqdm_ray`, progress bars of tasks."""

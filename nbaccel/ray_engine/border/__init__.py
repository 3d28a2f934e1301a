"""Where nbaccel meets Ray, which is untyped: types for its objects, and what this process is to a cluster."""

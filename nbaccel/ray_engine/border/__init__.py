"""The border to Ray, which is untyped: types for its objects, and the role of this process in a cluster."""

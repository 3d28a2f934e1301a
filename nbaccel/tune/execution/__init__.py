"""Names of Ray Tune's own engine that programs import."""

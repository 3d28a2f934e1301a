"""A request that cannot be met now says so, says why, and has somewhere else to go."""

"""The paths of Ray Train's second version; the names are those of `nbaccel.train`."""

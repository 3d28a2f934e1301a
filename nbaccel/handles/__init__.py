"""Remote functions, actor classes, handles, refs, ids and options, with the checks of their arguments."""

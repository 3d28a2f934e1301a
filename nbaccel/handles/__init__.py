"""What users hold, and the checks of what they ask: remote functions, actor classes and handles, refs, ids, options."""

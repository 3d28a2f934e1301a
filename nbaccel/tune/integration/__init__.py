"""Callbacks of other libraries that report to a trial. Names as in Ray Tune."""

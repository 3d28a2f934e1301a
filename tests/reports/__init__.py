"""Programs that show what users reported: each runs as a script and, cell by cell, in a kernel."""

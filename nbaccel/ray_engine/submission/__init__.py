"""What goes to Ray: functions, actors, groups and values, and which of their choices Ray is asked for."""

"""The head's helper processes: the zygote forks workers, log reads their output, mover spills, prober asks devices."""

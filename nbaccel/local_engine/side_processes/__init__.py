"""The head's helper processes: zygote forks workers, log reads their output, mover spills, prober asks devices."""

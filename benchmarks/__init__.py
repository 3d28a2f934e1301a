"""Figures, not tests: what nbaccel costs, beside what users would pick instead."""

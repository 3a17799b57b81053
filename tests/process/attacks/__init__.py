"""Attacks on real processes: what a broken peer does, and what must hold all the same."""

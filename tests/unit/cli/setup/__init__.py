"""lastword setup, piece by piece."""

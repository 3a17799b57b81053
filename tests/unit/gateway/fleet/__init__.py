"""Sessions on more than one machine."""

"""`lastword check`: the command, and its findings as text."""

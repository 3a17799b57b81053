"""`lastword check`: the command, and its findings for a person."""

"""Real processes and sockets, with nothing from outside."""

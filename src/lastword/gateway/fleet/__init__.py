"""Sessions on more than one machine: what the nodes of a fleet share."""

"""A simulator of whole links: agents, clients and machines of every kind around the real core."""

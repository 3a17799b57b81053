"""What a side of the protocol can be tried against.

For authors of clients: an agent that fails on purpose, in every way that the vocabulary names. For
authors of agents: checks of what clients rely on, with a client and a provider of their own.
"""

"""The protocol as a state machine: messages and a time go in, effects come out.

Nothing in this package does I/O, awaits, or reads a clock or the environment. Nothing that a peer
sends makes it raise.

Private: names may change in any version.
"""

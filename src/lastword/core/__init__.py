"""The protocol as a machine: messages and a time go in, effects come out.

Nothing in this package does I/O, reads a clock or the environment, or awaits. It never raises
because of what a peer sent.

Private: its names may change with any version.
"""

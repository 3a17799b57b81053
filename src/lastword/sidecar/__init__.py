"""The sidecar: a client on standard streams, an agent in a child process, and the core between.

Private: its names may change in any version.
"""

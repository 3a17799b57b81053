"""The sidecar: a client on standard streams, an agent in a child process, the core between.

Private: its names may change with any version.
"""

"""The sidecar: a client on standard streams, an agent in a child process, the core between."""

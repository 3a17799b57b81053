"""The gateway with real processes and sockets."""

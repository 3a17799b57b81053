"""The gateway, without processes and sockets."""

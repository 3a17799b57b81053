"""The front: the process that has the sockets."""

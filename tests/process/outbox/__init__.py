"""Reports over real sockets, from real processes."""

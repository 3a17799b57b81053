"""Notifications over real sockets, from real processes."""

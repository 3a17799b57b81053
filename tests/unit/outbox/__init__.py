"""The outbox without a process or a socket."""

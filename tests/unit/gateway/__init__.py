"""The gateway's parts, without a process or a socket."""

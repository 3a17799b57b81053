"""The front's parts, without a socket."""

"""The holder's parts, without a process."""

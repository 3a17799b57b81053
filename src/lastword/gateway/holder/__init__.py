"""The holder: the process that has one agent and the logs of its sessions."""

"""The holder: one agent, and the logs of its sessions."""

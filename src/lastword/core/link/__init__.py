"""The link between one client and one agent: a sans-IO machine of messages, time and effects."""

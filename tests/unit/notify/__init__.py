"""Notifications: what is said, when, and how it looks on the wire."""

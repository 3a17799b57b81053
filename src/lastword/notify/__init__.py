"""Notifications: news of a session for users who are away from it.

Owns the events that are worth a notification, the sentences, the pace, and the senders. Nothing
here is loaded unless notifications are enabled.

Private: its names may change in any version.
"""

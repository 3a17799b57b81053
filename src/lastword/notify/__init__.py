"""Notifications: news of a session for somebody who is away from it, by whatever sends them.

Owns which events are worth a notification, its sentences, its pace, and the list of what sends it.
Nothing of it is loaded unless notifications are enabled.

Private: its names may change in any version.
"""

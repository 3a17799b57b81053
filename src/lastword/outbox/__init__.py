"""The outbox: failure reports on their way to a collector, stored on disk before they are sent.

Owns the content of a report, the file of those that have not arrived, and sending them. No turn
waits for any of it, nothing is loaded unless reports are enabled, and no report contains text of
a conversation.

Private: its names may change in any version.
"""

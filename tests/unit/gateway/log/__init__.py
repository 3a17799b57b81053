"""A session's log."""

"""The record: what happened in this user's sessions, kept on disk.

Owns the path of entries from the core into a SQLite store, its bounds, and reading it again. A full
or broken disk never affects a turn: no turn waits for anything here.

Private: names may change in any version.
"""

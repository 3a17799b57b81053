"""The record: what happened in the sessions of this user, kept on disk.

Owns the entries' way from the core into a SQLite store, its bounds, and how it is read again. A
full or broken disk never touches a turn: nothing here is waited for by one.

Private: its names may change with any version.
"""

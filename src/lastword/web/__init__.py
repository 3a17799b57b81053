"""Web pages: the gateway's, the record's, and their shared files.

Private: its names may change in any version.
"""

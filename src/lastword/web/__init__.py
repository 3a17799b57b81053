"""Web pages: that of the gateway and that of the record, and what they share.

Private: its names may change in any version.
"""

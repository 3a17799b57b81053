"""The gateway: agents' sessions that outlive whoever looks at them.

Private: its names may change with any version.
"""

"""The gateway: agents' sessions that outlive the clients looking at them.

Private: its names may change in any version.
"""

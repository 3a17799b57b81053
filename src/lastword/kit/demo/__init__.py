"""The demo's parts: an agent that fails with its provider, and two kinds of client.

All of it runs on this machine's loopback; nothing here is used outside `lastword demo`.
"""

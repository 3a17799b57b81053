"""The demo's parts: a provider that fails, an agent that fails with it, and two kinds of client.

All of it runs on this machine's loopback; nothing here is used outside `lastword demo`.
"""

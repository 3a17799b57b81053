"""The demo's parts: an agent that fails when its provider does, and two kinds of client.

All of it runs on this machine's loopback interface, and is used only by `lastword demo`.
"""

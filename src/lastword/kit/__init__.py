"""The kit: agents, providers and clients to try a side of the protocol with.

A scripted agent, a provider that fails on purpose, the checks, the doctor and the demo: all of them
play with real processes on this machine's loopback.

Private: its names may change with any version.
"""

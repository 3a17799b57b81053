"""The kit: agents, providers and clients with which to try out one side of the protocol.

It has a scripted agent, a provider that fails on purpose, the checks, the doctor and the demo.
All of them use real processes on this machine's loopback interface.

Private: its names may change in any version.
"""

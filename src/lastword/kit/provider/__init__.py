"""A model provider on loopback that fails on purpose, called by the agent under test."""

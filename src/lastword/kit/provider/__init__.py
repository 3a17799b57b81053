"""A model provider on loopback that fails on purpose: what a checked agent calls for its turns."""

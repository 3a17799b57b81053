"""Conformance checks: what is done to an agent, what is expected of it, and the findings."""

"""Conformance checks: the stimuli for an agent, the expected behaviour, and the findings."""

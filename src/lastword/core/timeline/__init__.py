"""The timeline: entries of what happened, and what they add up to."""

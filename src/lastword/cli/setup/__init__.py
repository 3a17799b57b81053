"""`lastword setup`: lastword in front of an agent, in an editor's own settings."""

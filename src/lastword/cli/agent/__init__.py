"""`lastword agent`: the scripted agent, and the list of its scenarios."""

"""`lastword run`: its options, and its start in two halves around the agent's spawn."""

"""`lastword gateway`: its options, its start, and the commands to a running gateway."""

"""The gateway and `lastword connect` as processes."""

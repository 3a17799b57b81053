"""`lastword explain`: what an error means, and the evidence for it."""

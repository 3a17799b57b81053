"""`lastword explain`: what an error means, and which evidence says so."""

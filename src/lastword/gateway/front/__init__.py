"""The front: who may come, viewers' links, and where sessions are found."""

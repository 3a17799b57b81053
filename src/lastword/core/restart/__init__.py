"""Restarting an agent that crashed: what is remembered, replayed and restored."""

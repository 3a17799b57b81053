"""The restart of an agent that crashed: what is remembered, replayed and brought back."""

"""Real SDKs, packages and agents, which are installed on demand."""

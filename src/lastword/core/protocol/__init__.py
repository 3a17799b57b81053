"""ACP and JSON-RPC: names, envelopes, and tolerant reading of what a peer sent."""

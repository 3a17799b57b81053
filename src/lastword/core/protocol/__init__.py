"""ACP and JSON-RPC: names, envelopes, and the tolerant reading of what a peer wrote."""

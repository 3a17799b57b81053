"""The events API: what a gateway's sessions are and were, over HTTP, for pages and for programs."""

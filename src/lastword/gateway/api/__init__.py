"""The events API: the state and history of a gateway's sessions, over HTTP."""

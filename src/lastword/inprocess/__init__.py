"""The core between a client and a handler in this very process.

What the doors for agents' authors share: the link, the handler's turn, its cancellation. Knows no
SDK and no event loop; `lastword.inprocess.sdk` and `lastword.inprocess.serve.server` bring theirs.

Private: its names may change with any version.
"""

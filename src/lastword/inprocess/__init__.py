"""The core between a client and a handler in the same process.

Holds what the entry points for agents' authors share: the link, the handler's turn, its
cancellation. Knows no SDK and no event loop; `lastword.inprocess.sdk` and
`lastword.inprocess.serve.server` bring theirs.

Private: names may change in any version.
"""

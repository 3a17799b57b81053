"""An agent's side of the protocol without an SDK: descriptors, handlers, order, cancellation.

What `lastword.inprocess.serve.server` is made of. Works on asyncio and on trio, by anyio, and knows
nothing of the library that dispatches.
"""

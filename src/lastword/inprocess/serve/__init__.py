"""An agent's side of the protocol without an SDK: descriptors, handlers, order, cancellation.

The parts of `lastword.inprocess.serve.server`. Works on asyncio and on trio, through anyio, and
knows nothing of the library that dispatches.
"""

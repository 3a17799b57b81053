"""The guard: agents written with the official Python SDK, with lastword around their handlers.

The only package that imports the SDK.
"""

from lastword.inprocess.sdk.agent import guard, run_agent

__all__ = ["guard", "run_agent"]

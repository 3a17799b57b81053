"""The guard: lastword around the handlers of agents written with the official Python SDK.

The only package that imports the SDK.
"""

from lastword.errors import missing_extra

try:
    from lastword.inprocess.sdk.agent import guard, run_agent
except ImportError as _missing:
    raise missing_extra("An agent of the official SDK", "acp", _missing) from None

__all__ = ["guard", "run_agent"]

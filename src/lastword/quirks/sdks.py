"""SDKs: what every agent that is built on one does, so that the fault is not its author's.

A row names the check of `lastword check` that finds it.
"""

from __future__ import annotations

from lastword.quirks import Quirk


class SdkFault(Quirk, frozen=True, kw_only=True):
    """What an SDK does wrong for every agent.

    Attributes:
        sdk: Its package's name.
        checks: The checks that find it.
        does: What it does, as a sentence goes on after "the SDK".
    """

    sdk: str
    checks: tuple[str, ...]
    does: str


PYTHON = "agent-client-protocol (Python)"
TYPESCRIPT = "@agentclientprotocol/sdk"
GO = "github.com/coder/acp-go-sdk"
RUST = "agent-client-protocol (Rust)"
KOTLIN = "com.agentclientprotocol:acp"

ROWS: tuple[SdkFault, ...] = ()

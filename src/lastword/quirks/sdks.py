"""SDKs: what every agent built on one does wrong, so that its author is not blamed.

A row names the check of `lastword check` that finds it.
"""

from __future__ import annotations

from lastword.quirks import Quirk


class SdkFault(Quirk, frozen=True, kw_only=True):
    """A mistake of an SDK that affects every agent.

    Attributes:
        sdk: Its package's name.
        checks: The checks that find it.
        does: What it does, worded to follow "the SDK" in a sentence.
    """

    sdk: str
    checks: tuple[str, ...]
    does: str


PYTHON = "agent-client-protocol (Python)"
TYPESCRIPT = "@agentclientprotocol/sdk"
GO = "github.com/coder/acp-go-sdk"
RUST = "agent-client-protocol (Rust)"
KOTLIN = "com.agentclientprotocol:acp"

ROWS: tuple[SdkFault, ...] = (
    SdkFault(
        name="python: what is not an object",
        sdk=PYTHON,
        checks=("junk-scalars",),
        does="stops reading at a JSON value that is not an object",
        evidence=(
            "run on both of its stdio examples; acp/connection.py, `_process_message` calls "
            "`message.get` on whatever was read, and `_on_receive_error` then disconnects"
        ),
        version="0.12.1",
    ),
    SdkFault(
        name="python: list without a handler",
        sdk=PYTHON,
        checks=("unadvertised-method",),
        does="answers session/list with null for a class that derives from acp.Agent without it",
        evidence=(
            "run on both of its stdio examples; the protocol class acp.interfaces.Agent has a body "
            "for list_sessions that returns None, and acp/agent/router.py sends that as it is"
        ),
        version="0.12.1",
    ),
    SdkFault(
        name="rust: no UTF-8",
        sdk=RUST,
        checks=("junk-utf8",),
        does="ends at a line that is not UTF-8",
        evidence=(
            "run on simple_agent: exit status 1 and `stream did not contain valid UTF-8`; "
            "src/stdio.rs reads `BufReader::lines`, whose error ends the connection"
        ),
        version="5.0.0",
    ),
    SdkFault(
        name="kotlin: ids of 32 bits",
        sdk=KOTLIN,
        checks=("large-ids",),
        does="drops a request whose id does not fit into 32 bits",
        evidence=(
            "run on the sample's SimpleAgentSupport over stdio; rpc/JsonRpc.kt reads an id by "
            "`toInt()`, and StdioTransport.kt goes on behind a line that it could not decode"
        ),
        version="0.10.5",
    ),
    SdkFault(
        name="kotlin: end of input",
        sdk=KOTLIN,
        checks=("exit",),
        does="keeps the coroutine scope of `main` open once stdin has ended",
        evidence=(
            "run on the sample's SimpleAgentSupport in a `main` as the SDK's README has it; the "
            "SupervisorJob in protocol/Protocol.kt is a child of that scope, and nothing ends it "
            "when the transport closes"
        ),
        version="0.10.5",
    ),
)

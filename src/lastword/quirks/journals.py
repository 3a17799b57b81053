"""Agents' journals: where an agent writes down why a turn failed that it tells nobody else.

Reading them is `sidecar.agent_log`'s part, and when.
"""

from __future__ import annotations

from lastword.quirks import Quirk


class KnownJournal(Quirk, frozen=True, kw_only=True):
    """Where one agent keeps its log; `name` is its `agentInfo.name`, lower case.

    Attributes:
        agent: the agent's package.
        variable: the environment variable that names its folder.
        default: the folder without it.
        path: the log's path within the folder.
        marker: what stands in every line of the log that reports an error.
        separator: what stands between a line's own beginning (time, level) and its text.
    """

    agent: str
    variable: str
    default: str
    path: str
    marker: bytes
    separator: bytes


ROWS = (
    KnownJournal(
        name="kimi code cli",
        agent="kimi-cli",
        variable="KIMI_SHARE_DIR",
        default="~/.kimi",
        path="logs/kimi.log",
        marker=b"| ERROR ",
        separator=b" - ",
        evidence=(
            "runs: 401, 429, 502 and overflow are `end_turn` with nothing shown and nothing on "
            "stderr; the log holds the exception, 0.1 to 14 s later, and nothing of a cut stream"
        ),
        version="kimi-cli 1.15.0",
    ),
)

"""Journals: files in which agents record why a model call failed, before or without reporting it.

A row says where an agent keeps its journal, how to recognise a line about a failed call, and where
in the line each fact is. `sidecar.journals` finds the file, and decides when to read it. Formats
are internal to their agents: a line that does not fit its row is ignored.
"""

from __future__ import annotations

import msgspec

from lastword.quirks import Quirk

Path = tuple[str, ...]
"""The members of a decoded line that lead to a value."""


class JournalMembers(msgspec.Struct, frozen=True, kw_only=True):
    """The paths of the facts in a line that is a JSON object.

    Attributes:
        must: the values that a line about a failure has, by their paths.
        at: the moment, as ISO 8601.
        failure: the classifier's evidence, by its names.
        session: the agent's id of the session; empty if the file's own name has it.
        attempt: the number of the next retry.
        max_attempts: the largest number of retries.
        wait_ms: how long the agent waits until the next retry.
        side: a member that is true if the call was not for the turn itself.
    """

    must: dict[Path, str]
    at: Path
    failure: dict[str, Path]
    session: Path = ()
    attempt: Path = ()
    max_attempts: Path = ()
    wait_ms: Path = ()
    side: Path = ()


class JournalRow(Quirk, frozen=True, kw_only=True):
    """One journal file of one agent.

    Attributes:
        agent: the agent, by its key in `agents`.
        variables: the environment variables that name the folder, each with the path below it; the
            first that is set counts.
        default: the folder without one.
        path: the file within the folder. `*` stands for any name, or the beginning of one, and
            `{session}` for the session's id.
        marker: bytes of every line about a failure; no other line is decoded.
        members: how to read such a line, if it is JSON.
        pattern: how to read any other: the groups `at`, `message` or `quoted` (a message in quotes,
            as in JSON), and possibly `status`, `name`, `session`, `attempt` (the try that failed,
            from 1), `wait` (seconds), `pid` (the process that wrote it) and `side` (not empty: the
            call was not for the turn itself).
            What it skips is atomic, so that no line takes long.
        goes_on: whether such a line means that the agent tries again.
        in_time: whether it is written while the agent still tries, or only after it gave up.
    """

    agent: str
    variables: tuple[tuple[str, str], ...]
    default: str
    path: str
    marker: bytes
    members: JournalMembers | None = None
    pattern: str = ""
    goes_on: bool | None = None
    in_time: bool = True


ROWS = (
    JournalRow(
        name="claude",
        agent="claude",
        variables=(("CLAUDE_CONFIG_DIR", ""),),
        default="~/.claude",
        path="projects/*/{session}.jsonl",
        marker=b'"subtype":"api_error"',
        members=JournalMembers(
            must={("type",): "system", ("subtype",): "api_error"},
            at=("timestamp",),
            failure={
                "message": ("error", "message"),
                "http_status": ("error", "status"),
                "code": ("error", "connection", "code"),
            },
            attempt=("retryAttempt",),
            max_attempts=("maxRetries",),
            wait_ms=("retryInMs",),
            side=("isSidechain",),
        ),
        goes_on=True,
        evidence=(
            "runs: written 0.1 to 2.2 s after a 401, 429, 502 or a cut, which the agent tries ten "
            "times in silence; the message holds the provider's whole answer"
        ),
        version="claude-agent-acp 0.101.0 with Claude Code 2.1.318",
    ),
    JournalRow(
        name="kimi-code",
        agent="kimi-code",
        variables=(("KIMI_CODE_HOME", ""),),
        default="~/.kimi-code",
        path="sessions/*/{session}/logs/kimi-code.log",
        marker=b" llm request failed ",
        pattern=(
            r"(?P<at>\S++) ++WARN ++llm request failed (?>.*?errorName=)(?P<name>\w++) "
            r'++errorMessage=(?:"(?P<quoted>(?:[^"\\]|\\.)*+)"|(?P<message>[^"\s]++))'
            r"(?: ++statusCode=(?P<status>\d{3}))?"
        ),
        evidence=(
            "runs: 0.1 s after a failure, 0.7 s after a cut, one line a try; a message of one word "
            "(`terminated`) has no quotes"
        ),
        version="kimi-code 2.1.0",
    ),
    JournalRow(
        name="kimi",
        agent="kimi-code",
        variables=(("KIMI_SHARE_DIR", ""),),
        default="~/.kimi",
        path="logs/kimi.log",
        marker=b"| ERROR ",
        # A traceback's frames are indented; its last line, the exception, is not. What the agent
        # writes to stderr about requests is in `kimi-requests`.
        pattern=(
            r"(?P<at>\d{4}-\d\d-\d\d \S++) \| ERROR ++\| \S++ - "
            r"(?P<message>(?!\[[^\]]*?- INFO\])\S.*)"
        ),
        goes_on=False,
        in_time=False,
        evidence=(
            "runs: 401, 429, 502 and overflow are `end_turn` with nothing shown and nothing on "
            "stderr; the log holds the exception, 0.1 to 14 s later, and 0.06 s after the answer. "
            "kimi-cli and kimi-code give themselves the same name"
        ),
        version="kimi-cli 1.15.0",
    ),
    JournalRow(
        name="kimi-retries",
        agent="kimi-code",
        variables=(("KIMI_SHARE_DIR", ""),),
        default="~/.kimi",
        path="logs/kimi.log",
        marker=b" kimi_cli.soul.kimisoul:_r",
        pattern=(
            r"(?P<at>\d{4}-\d\d-\d\d \S++) \| INFO ++\| kimi_cli\.soul\.kimisoul:_r\w++:\d++ - "
            r"(?:Retrying \w++ for the (?P<attempt>\d{1,4}) time\. Waiting "
            r"(?P<wait>\d{1,6}(?:\.\d{1,6})?)|Recovered chat provider during \w++ after "
            r"(?P<message>\w++); retrying once)"
        ),
        goes_on=True,
        evidence=(
            "runs: the second form after a cut (0.4 s) or a refused connection (3 to 4 s, once the "
            "provider's package has tried three times itself); the first form, without a cause, "
            "after a 429 (1.2 s; 40 s where the provider named 20), 502 or 503"
        ),
        version="kimi-cli 1.15.0",
    ),
    JournalRow(
        name="kimi-requests",
        agent="kimi-code",
        variables=(("KIMI_SHARE_DIR", ""),),
        default="~/.kimi",
        path="logs/kimi.log",
        marker=b" - INFO] HTTP Request: POST ",
        pattern=(
            r"(?P<at>\d{4}-\d\d-\d\d \S++) \| ERROR ++\| \S++ - \[[^\]]++\] HTTP Request: POST "
            r'(?>[^\s?]*/)(?:completions|responses|messages)(?:\?\S*+)? "HTTP/\S++ '
            r'(?P<message>(?P<status>40[89]|429|5\d\d)[^"]*+)"'
        ),
        evidence=(
            "runs: each call's status at once, where the user has set OPENAI_LOG=info, which the "
            "provider's package documents: stderr goes to this log. It is not set for the agent: "
            "every command that the agent runs would inherit it, and what uses that package in "
            "Node.js writes such lines to stdout"
        ),
        version="kimi-cli 1.15.0",
    ),
    JournalRow(
        name="pi",
        agent="pi",
        variables=(("PI_CODING_AGENT_DIR", ""),),
        default="~/.pi/agent",
        path="sessions/*/*_{session}.jsonl",
        marker=b'"stopReason":"error"',
        members=JournalMembers(
            must={("type",): "message", ("message", "stopReason"): "error"},
            at=("timestamp",),
            failure={"message": ("message", "errorMessage")},
        ),
        evidence="runs: 0.1 to 2.3 s after each failed try; its frames tell of tries, never why",
        version="pi-acp 0.0.34",
    ),
    JournalRow(
        name="qwen",
        agent="qwen",
        variables=(("QWEN_RUNTIME_DIR", ""), ("QWEN_HOME", "")),
        default="~/.qwen",
        path="projects/*/chats/{session}.jsonl",
        marker=b'"qwen-code.api_error"',
        members=JournalMembers(
            must={
                ("subtype",): "ui_telemetry",
                ("systemPayload", "uiEvent", "event.name"): "qwen-code.api_error",
            },
            at=("timestamp",),
            failure={
                "message": ("systemPayload", "uiEvent", "error_message"),
                "http_status": ("systemPayload", "uiEvent", "status_code"),
                "exception_class": ("systemPayload", "uiEvent", "error_type"),
            },
        ),
        evidence=(
            "runs: 3.3 to 6.7 s after the first failure, which its provider's package tries three "
            "times first, and 0.7 s after a cut; thirty requests on a 429, in silence"
        ),
        version="qwen-code 0.24.4",
    ),
    JournalRow(
        name="opencode",
        agent="opencode",
        variables=(("XDG_DATA_HOME", "opencode"),),
        default="~/.local/share/opencode",
        path="log/opencode.log",
        marker=b' message="stream error" ',
        pattern=(
            r'timestamp=(?P<at>\S++) level=ERROR (?>.*?message="stream error" )(?>.*?session\.id=)'
            r"(?P<session>\S++) (?:small=(?:(?P<side>true)|false) )?(?>.*?error\.error=)"
            r'"(?P<quoted>(?:[^"\\]|\\.)*+)"'
        ),
        evidence="runs: 0.4 to 2.6 s after each failure, nothing of a cut; titles are small=true",
        version="opencode-ai 1.18.33",
    ),
    JournalRow(
        name="vibe",
        agent="vibe",
        variables=(("VIBE_HOME", ""),),
        default="~/.vibe",
        path="logs/vibe.log",
        marker=b" Retrying model completion ",
        pattern=(
            r"(?P<at>\S++) (?:\d++ (?P<pid>\d{1,9}) )?(?>.*?Retrying model completion )"
            r"\(attempt (?P<attempt>\d{1,4}), delay (?P<wait>\d{1,6}(?:\.\d{1,6})?)s\): "
            r"(?P<message>.*)"
        ),
        goes_on=True,
        evidence=(
            "runs: 0.03 s after each failure; its frames tell the same without the cause. Before "
            "the level there are the process's parent and the process"
        ),
        version="mistral-vibe 3.0.2",
    ),
    JournalRow(
        name="cline",
        agent="cline",
        variables=(("CLINE_DATA_DIR", ""), ("CLINE_DIR", "data")),
        default="~/.cline/data",
        path="logs/hooks.jsonl",
        marker=b'"hookName":"agent_error"',
        members=JournalMembers(
            must={("hookName",): "agent_error"},
            at=("timestamp",),
            failure={"message": ("error", "message"), "exception_class": ("error", "name")},
            session=("sessionContext", "rootSessionId"),
        ),
        goes_on=False,
        in_time=False,
        evidence="runs: once it has given up, 5 to 10 s after the first failure",
        version="cline 3.0.65",
    ),
)

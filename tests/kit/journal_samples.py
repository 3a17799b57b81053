"""Lines of agents' journals, each as its agent writes it about one failed model call.

Owns the shape of a line by the row of `lastword.quirks.journals` that reads it. What failed, and
when, is the tests'.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

LIMITED = "Rate limit reached. Please try again in 7s."
SESSION = "4f0e-a1"


def claude(at: datetime, message: str = LIMITED, status: int | None = 429, attempt: int = 1) -> str:
    """A retry in a transcript; the message is the status and the provider's answer."""
    body = json.dumps({"type": "error", "error": {"type": "rate_limit_error", "message": message}})
    return json.dumps(
        {
            "parentUuid": "u1",
            "type": "system",
            "subtype": "api_error",
            "error": {"message": f"{status} {body}", "status": status, "connection": None},
            "retryInMs": 2000,
            "retryAttempt": attempt,
            "maxRetries": 10,
            "timestamp": _utc(at),
        },
        separators=(",", ":"),
    )


def claude_cut(at: datetime) -> str:
    """A connection that was lost."""
    line = json.loads(claude(at, status=None))
    line["error"] = {"message": "Connection error.", "connection": {"code": "ECONNRESET"}}
    return json.dumps(line, separators=(",", ":"))


def kimi_code(at: datetime, message: str = f"429 {LIMITED}") -> str:
    """A failed request in a session's own log."""
    return (
        f"{_utc(at)} WARN  llm request failed  turnStep=0.1 model=m "
        f"errorName=APIProviderRateLimitError errorMessage={json.dumps(message)} statusCode=429"
    )


def kimi(at: datetime, message: str = f"Error code: 429 - {LIMITED}") -> str:
    """A traceback, each line of it with a beginning of its own."""
    begin = f"{_local(at)} | ERROR    | threading:run:9 -"
    frames = ("Traceback (most recent call last):", '  File "a.py", line 1, in step', "    raise e")
    return "\n".join(f"{begin} {text}" for text in (*frames, f"kosong.APIStatusError: {message}"))


def kimi_retries(at: datetime, why: str = "APIConnectionError") -> str:
    """A connection that was lost, and a try of whose cause nothing is said."""
    begin = f"{_local(at)} | INFO     | kimi_cli.soul.kimisoul"
    first = f"{begin}:_retry_log:633 - Retrying step for the 1 time. Waiting 0.7537 seconds."
    recovers = f"Recovered chat provider during step after {why}; retrying once."
    return f"{first}\n{begin}:_run_with_connection_recovery:620 - {recovers}"


def kimi_requests(at: datetime, status: str = "429 Too Many Requests") -> str:
    """A request of the provider's package, of which stderr was told."""
    url = "https://models.example/v1/chat/completions"
    logged = f"[{at.strftime('%Y-%m-%d %H:%M:%S')} - httpx:1740 - INFO]"
    said = f'{logged} HTTP Request: POST {url} "HTTP/1.1 {status}"'
    return f"{_local(at)} | ERROR    | threading:run:992 - {said}"


def pi(at: datetime, message: str = "terminated") -> str:
    """A message of a session that is nothing but its error."""
    content = {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": message}
    told = {"type": "message", "id": "e1", "timestamp": _utc(at), "message": content}
    return json.dumps(told, separators=(",", ":"))


def qwen(at: datetime, message: str = f"429 {LIMITED}") -> str:
    """A failed request among what the agent counts."""
    event = {
        "event.name": "qwen-code.api_error",
        "error_message": message,
        "error_type": "RateLimitError",
        "status_code": 429,
    }
    told = {"timestamp": _utc(at), "type": "system", "subtype": "ui_telemetry"}
    return json.dumps(told | {"systemPayload": {"uiEvent": event}}, separators=(",", ":"))


def opencode(
    at: datetime, message: str = f"AI_APICallError: {LIMITED}", *, small: bool = False
) -> str:
    """A failed stream, with its session."""
    which = "small=true agent=title" if small else "small=false agent=build"
    return (
        f'timestamp={_utc(at)} level=ERROR run=1 message="stream error" providerID=p modelID=m '
        f"session.id={SESSION} {which} mode=primary error.error={json.dumps(message)}"
    )


def vibe(at: datetime, message: str = "Client error '429 Too Many Requests'") -> str:
    """A retry, with the process that wrote it and its parent."""
    begin = f"{at.astimezone(UTC).isoformat()} {os.getppid()} {os.getpid()} WARNING"
    return (
        f'{begin} Retrying model completion (attempt 1, delay 2.00s): HTTPStatusError("{message}")'
    )


def cline(at: datetime, message: str = LIMITED) -> str:
    """A task's end."""
    told = {
        "timestamp": _utc(at),
        "sessionContext": {"rootSessionId": SESSION},
        "hookName": "agent_error",
        "error": {"name": "Error", "message": message},
    }
    return json.dumps(told, separators=(",", ":"))


def _local(at: datetime) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _utc(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"

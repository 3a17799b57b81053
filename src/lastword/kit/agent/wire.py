"""The scripted agent's frames, in the protocol version that the client speaks.

Owns which frames say what; `kit.agent.plain` writes them. Nothing of lastword guards them: what a
script says is sent unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword._version import __version__
from lastword.core.protocol import acp
from lastword.kit.agent.plain import Output

if TYPE_CHECKING:
    from lastword.kit.agent.script import Fail, RetryStep, Script, Tool

INFO = {"name": "lastword-agent", "version": __version__}
LOGIN = {"id": "login", "name": "Log in", "description": "Any login will do."}
PERMISSION_OPTIONS = (
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
)
FAILED = "Internal error"
"""As most agents say it: what failed stands in `data`, where no client shows it."""


class Wire(Output):
    """stdout, and which dialect is spoken there."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.dialect: acp.Dialect = acp.V1

    def chunk(self, session_id: str, kind: str, text: str, message_id: str) -> None:
        """Write a piece of text or of reasoning."""
        update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        # Version 2 needs to know which message it is a piece of.
        own = {"messageId": message_id} if self.dialect.turn_ends_by_state else {}
        self.update(session_id, update | own)

    def tool(self, session_id: str, tool: Tool) -> None:
        """Write a tool call; version 2 has one kind of update for both of its ends."""
        is_new = bool(tool.title)
        first = is_new and not self.dialect.turn_ends_by_state
        update = {
            "sessionUpdate": "tool_call" if first else "tool_call_update",
            "toolCallId": tool.id,
            "status": tool.status,
        }
        data = {"title": tool.title, "kind": tool.kind} if is_new else {}
        self.update(session_id, update | data)

    def permission(self, session_id: str, title: str, call_id: str = "asked_1") -> int:
        """Ask the user; gives the request's id."""
        call = {"toolCallId": call_id, "title": title, "kind": "execute", "status": "pending"}
        options = list(PERMISSION_OPTIONS)
        if self.dialect.turn_ends_by_state:
            params: dict[str, Any] = {"title": title, "options": options}
        else:
            params = {"toolCall": call, "options": options}
        return self.request(session_id, acp.PERMISSION, params)

    def retry(self, session_id: str, retry: RetryStep) -> None:
        """Announce that the model call is retried, as opencode does."""
        data = {"attempt": retry.attempt, "message": retry.message, "statusCode": retry.http}
        if retry.wait:
            data |= {"responseHeaders": {"retry-after": str(round(retry.wait))}}
        meta = {"opencode/retry": data}
        self.update(session_id, {"sessionUpdate": "session_info_update", "_meta": meta})

    def accept(self, prompt: object, session_id: str, message_id: str) -> None:
        """Accept a prompt: version 2 answers it at once, and announces that work has begun."""
        if self.dialect.turn_ends_by_state:
            self.frame(id=prompt, result={"messageId": message_id})
            self.update(session_id, {"sessionUpdate": acp.STATE_UPDATE, "state": "running"})

    def end(self, prompt: object, session_id: str, result: dict[str, Any]) -> None:
        """End a turn that went well."""
        if self.dialect.turn_ends_by_state:
            idle = {"sessionUpdate": acp.STATE_UPDATE, "state": acp.IDLE}
            self.update(session_id, idle | result)
        else:
            self.frame(id=prompt, result=result)

    def fail(self, prompt: object, session_id: str, fail: Fail) -> None:
        """End a turn that failed."""
        error = error_of(fail)
        if fail.agent_error is not None:
            kind, data = self.dialect.error_kind, fail.agent_error
            typed = {"sessionUpdate": kind, "stopReason": acp.STOP_ERROR, "error": data}
            self.update(session_id, typed)
        if self.dialect.turn_ends_by_state and not fail.refused:
            self.end(prompt, session_id, {"stopReason": acp.STOP_ERROR, "error": error})
        else:
            self.frame(id=prompt, error=error)

    def greeting(self, script: Script, *, typed: bool) -> dict[str, Any]:
        """Return the result of `initialize`."""
        meta = {"_meta": {"agent_error": {"version": 1, "types": []}}} if typed else {}
        login = {"authMethods": [LOGIN]} if script.login else {}
        if self.dialect.turn_ends_by_state:
            own: dict[str, Any] = {"session": {}, **meta}
        else:
            resumes: dict[str, Any] = {}
            if script.sessions == "resume":
                resumes = {"sessionCapabilities": {"resume": {}}}
            own = {"loadSession": script.sessions == "load", **resumes, **meta}
        dialect = self.dialect
        return {
            "protocolVersion": dialect.version,
            dialect.agent_capabilities: own,
            dialect.agent_info: INFO,
            **login,
        }


def error_of(fail: Fail) -> Any:
    """Return the JSON-RPC error object of a failure, as an agent without lastword sends it."""
    if fail.agent_error is not None:
        payload = fail.agent_error | {"stopReason": acp.STOP_ERROR}
        message = fail.agent_error["message"]
        data = {"details": message, "errorKind": fail.agent_error["type"], "agent_error": payload}
        return {"code": acp.INTERNAL_ERROR, "message": message, "data": data}
    if fail.exception is not None:
        data = {"details": fail.exception}
        return {"code": acp.INTERNAL_ERROR, "message": FAILED, "data": data}
    if fail.http is None:
        return fail.error
    body = {"message": fail.message, **({"code": fail.code} if fail.code else {})}
    data = {"statusCode": fail.http, "error": body}
    if fail.headers:
        data["responseHeaders"] = dict(fail.headers)
    return {"code": acp.INTERNAL_ERROR, "message": FAILED, "data": data}

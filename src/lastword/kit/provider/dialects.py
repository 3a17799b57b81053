"""A healthy model provider's responses, in four dialects.

Owns streams and whole answers of OpenAI's chat completions and responses, of Anthropic's messages
and of Gemini's contents, and the few properties of a request on which the answer depends. It does
not own HTTP or failures.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL = "fake-model"
TEXT = ("The answer ", "from the fake ", "model is 42.")
TOOL_COMMAND = "echo lastword-interop"

Json = dict[str, Any]


class ProviderDialect(StrEnum):
    """Which provider's wire format a request is in."""

    OPENAI = "openai"
    RESPONSES = "responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


class _OpenAI:
    """Chat completion chunks; the classes of the other dialects have the same methods."""

    def text(self, model: str) -> Iterator[bytes]:
        """Yield the text in pieces, without the end of the stream."""
        yield self._chunk(model, {"role": "assistant", "content": ""})
        for piece in TEXT:
            yield self._chunk(model, {"content": piece})

    def end(self, model: str, reason: str = "stop") -> Iterator[bytes]:
        """Yield the end of a stream."""
        yield self._chunk(model, {}, reason)
        yield b"data: [DONE]\n\n"

    def tool_call(self, model: str, tool: str, command: str) -> Iterator[bytes]:
        """Yield a whole answer that asks for one shell command."""
        yield self._call(model, tool, json.dumps(_tool_input(tool, command)))
        yield from self.end(model, "tool_calls")

    def half_tool_call(self, model: str, tool: str) -> Iterator[bytes]:
        """Yield the beginning of such an answer, up to half of the command."""
        yield self._call(model, tool, json.dumps(_tool_input(tool, TOOL_COMMAND))[:8])

    def whole(self, model: str) -> Json:
        """Return the text as one answer without a stream."""
        message = {"role": "assistant", "content": "".join(TEXT)}
        return {
            "id": "chatcmpl-fake",
            "object": "chat.completion",
            "created": 1790000000,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": _OPENAI_USAGE,
        }

    def _call(self, model: str, tool: str, arguments: str) -> bytes:
        function = {"name": tool, "arguments": arguments}
        call = {"index": 0, "id": "call_fake_1", "type": "function", "function": function}
        return self._chunk(model, {"role": "assistant", "content": None, "tool_calls": [call]})

    def _chunk(self, model: str, delta: Json, reason: str | None = None) -> bytes:
        chunk: Json = {
            "id": "chatcmpl-fake",
            "object": "chat.completion.chunk",
            "created": 1790000000,
            "model": model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }
        if reason is not None:
            chunk["usage"] = _OPENAI_USAGE
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"


class _Anthropic:
    """Message stream events."""

    def text(self, model: str) -> Iterator[bytes]:
        yield self._event("message_start", {"message": self._message(model)})
        block = {"type": "text", "text": ""}
        yield self._event("content_block_start", {"index": 0, "content_block": block})
        for piece in TEXT:
            delta = {"type": "text_delta", "text": piece}
            yield self._event("content_block_delta", {"index": 0, "delta": delta})

    def end(self, _model: str, reason: str = "end_turn") -> Iterator[bytes]:
        yield self._event("content_block_stop", {"index": 0})
        delta = {"stop_reason": reason, "stop_sequence": None}
        yield self._event("message_delta", {"delta": delta, "usage": {"output_tokens": 9}})
        yield self._event("message_stop", {})

    def tool_call(self, model: str, tool: str, command: str) -> Iterator[bytes]:
        yield from self._call(model, tool, json.dumps(_tool_input(tool, command)))
        yield from self.end(model, "tool_use")

    def half_tool_call(self, model: str, tool: str) -> Iterator[bytes]:
        yield from self._call(model, tool, json.dumps(_tool_input(tool, TOOL_COMMAND))[:8])

    def _call(self, model: str, tool: str, arguments: str) -> Iterator[bytes]:
        yield self._event("message_start", {"message": self._message(model)})
        block = {"type": "tool_use", "id": "toolu_fake_1", "name": tool, "input": {}}
        yield self._event("content_block_start", {"index": 0, "content_block": block})
        delta = {"type": "input_json_delta", "partial_json": arguments}
        yield self._event("content_block_delta", {"index": 0, "delta": delta})

    def whole(self, model: str) -> Json:
        block = {"type": "text", "text": "".join(TEXT)}
        return {**self._message(model), "content": [block], "stop_reason": "end_turn"}

    def _message(self, model: str) -> Json:
        return {
            "id": "msg_fake_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 42, "output_tokens": 1},
        }

    def _event(self, kind: str, value: Json) -> bytes:
        body = json.dumps({"type": kind, **value})
        return f"event: {kind}\ndata: {body}\n\n".encode()


class _Responses:
    """Events of OpenAI's responses, with one open output item at a time."""

    def text(self, model: str) -> Iterator[bytes]:
        yield self._event("response.created", {"response": self._response(model, [])})
        added = {**self._message(""), "content": [], "status": "in_progress"}
        yield self._event("response.output_item.added", {"output_index": 0, "item": added})
        place = {"item_id": "msg_fake_1", "output_index": 0, "content_index": 0}
        part = {"type": "output_text", "text": "", "annotations": []}
        yield self._event("response.content_part.added", {**place, "part": part})
        for piece in TEXT:
            yield self._event("response.output_text.delta", {**place, "delta": piece})

    def end(self, model: str, _reason: str = "stop") -> Iterator[bytes]:
        message = self._message("".join(TEXT))
        yield from self._done(model, message)

    def tool_call(self, model: str, tool: str, command: str) -> Iterator[bytes]:
        yield from self.half_tool_call(model, tool)
        given = _tool_input(tool, command)
        if tool == "shell":
            given = {"command": ["bash", "-lc", command]}
        yield from self._done(model, self._call(tool, json.dumps(given)))

    def half_tool_call(self, model: str, tool: str) -> Iterator[bytes]:
        yield self._event("response.created", {"response": self._response(model, [])})
        added = {"output_index": 0, "item": self._call(tool, "")}
        yield self._event("response.output_item.added", added)

    def whole(self, model: str) -> Json:
        return self._response(model, [self._message("".join(TEXT))])

    def _done(self, model: str, item: Json) -> Iterator[bytes]:
        yield self._event("response.output_item.done", {"output_index": 0, "item": item})
        yield self._event("response.completed", {"response": self._response(model, [item])})

    def _message(self, text: str) -> Json:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item = {"id": "msg_fake_1", "type": "message", "role": "assistant"}
        return {**item, "status": "completed", "content": content}

    def _call(self, tool: str, arguments: str) -> Json:
        item = {"id": "fc_fake_1", "type": "function_call", "call_id": "call_fake_1"}
        return {**item, "name": tool, "arguments": arguments}

    def _response(self, model: str, output: list[Json]) -> Json:
        status = "completed" if output else "in_progress"
        usage = {"input_tokens": 42, "output_tokens": 9, "total_tokens": 51}
        response = {"id": "resp_fake_1", "object": "response", "created_at": 1790000000}
        return {**response, "model": model, "status": status, "output": output, "usage": usage}

    def _event(self, kind: str, value: Json) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **value})}\n\n".encode()


class _Gemini:
    """Pieces of generated content. The end is not an event: the last piece has a finish reason."""

    def text(self, model: str) -> Iterator[bytes]:
        for piece in TEXT:
            yield self._event(self._response(model, [{"text": piece}]))

    def end(self, model: str, reason: str = "STOP") -> Iterator[bytes]:
        yield self._event(self._response(model, [{"text": ""}], reason))

    def tool_call(self, model: str, tool: str, command: str) -> Iterator[bytes]:
        call = {"functionCall": {"name": tool, "args": _tool_input(tool, command)}}
        yield self._event(self._response(model, [call], "STOP"))

    def half_tool_call(self, model: str, _tool: str) -> Iterator[bytes]:
        # A call is a single event and cannot be cut, so this is the event before it.
        yield self._event(self._response(model, [{"text": ""}]))

    def whole(self, model: str) -> Json:
        return self._response(model, [{"text": "".join(TEXT)}], "STOP")

    def _response(self, model: str, parts: list[Json], reason: str | None = None) -> Json:
        candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
        if reason is not None:
            candidate["finishReason"] = reason
        return {"candidates": [candidate], "usageMetadata": _GEMINI_USAGE, "modelVersion": model}

    def _event(self, value: Json) -> bytes:
        return f"data: {json.dumps(value)}\r\n\r\n".encode()


_OPENAI_USAGE = {"prompt_tokens": 42, "completion_tokens": 9, "total_tokens": 51}
_GEMINI_USAGE = {"promptTokenCount": 42, "candidatesTokenCount": 9, "totalTokenCount": 51}
ENCODERS: dict[ProviderDialect, _OpenAI | _Responses | _Anthropic | _Gemini] = {
    ProviderDialect.OPENAI: _OpenAI(),
    ProviderDialect.RESPONSES: _Responses(),
    ProviderDialect.ANTHROPIC: _Anthropic(),
    ProviderDialect.GEMINI: _Gemini(),
}


_SHELLS: dict[str, Json] = {
    "bash": {"command": None},
    "shell": {"command": None},
    "exec_command": {"cmd": None, "yield_time_ms": 30_000},
    "shell_command": {"command": None},
    "run_shell_command": {"command": None, "is_background": False},
    "run_commands": {"commands": [None]},
}
"""The names of agents' shell tools, in lower case, with the input of each; the command is null."""


def _tool_input(tool: str, command: str) -> Json:
    places: Json = {}
    for name, value in _SHELLS[tool.lower()].items():
        places[name] = [command] if value == [None] else command if value is None else value
    return places


def offered_tools(body: Json) -> list[str]:
    """Return the names of the tools that the caller offers."""
    tools = [tool for tool in body.get("tools") or [] if isinstance(tool, dict)]
    declared = [each for tool in tools for each in tool.get("functionDeclarations") or ()]
    return [
        str(tool.get("name") or tool.get("function", {}).get("name")) for tool in declared or tools
    ]


def shell_tool(body: Json) -> str | None:
    """Return the name of the caller's shell tool, `None` if it offers none."""
    return next((name for name in offered_tools(body) if name.lower() in _SHELLS), None)


def has_tool_result(body: Json) -> bool:
    """Return whether a request contains a tool's result."""
    if any(
        isinstance(item, dict) and item.get("type") == "function_call_output"
        for item in body.get("input") or []
    ):
        return True
    if '"functionResponse"' in json.dumps(body.get("contents") or []):
        return True
    for message in body.get("messages") or []:
        if message.get("role") == "tool":
            return True
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        if any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks):
            return True
    return False


def model_card() -> Json:
    """Return the only model, in a shape for all dialects."""
    return {
        "id": MODEL,
        "object": "model",
        "type": "model",
        "created": 1790000000,
        "created_at": "2026-09-21T00:00:00Z",
        "display_name": MODEL,
        "owned_by": "fake",
    }

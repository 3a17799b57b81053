"""Streams as each provider's package hands them on, whole and cut, and what `watch` makes of them.

Runs in the environment of `requirements.txt`, never in the tests' own: with
lastword's source on its path. One JSON object a line. The server ends every answer cleanly,
with the last chunk of a chunked body, also where it cuts: that is what packages do not notice.
"""

# ruff: noqa: PLC0415 - a package is imported by the cases that need it

from __future__ import annotations

import asyncio
import inspect
import json
import os
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

os.environ |= {"NO_PROXY": "*", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
warnings.simplefilter("ignore")

MESSAGES = [{"role": "user", "content": "hi"}]
TIMEOUT_SECONDS = 20.0

Case = tuple[str, "Callable[[], Any]"]


def _chunk(delta: dict[str, Any] | None, finish: str | None = None, index: int = 0) -> Any:
    choice = {"index": index, "delta": delta or {}, "finish_reason": finish, "logprobs": None}
    return {"choices": [choice]} | _CHUNK


_CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x"}
_USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
_CALL = {"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": '{"a'}}
_MORE = {"index": 0, "function": {"arguments": '":1}'}}

CHAT = [
    _chunk({"role": "assistant", "content": "a"}),
    _chunk({"content": "b"}),
    _chunk({}, "stop"),
    {"choices": [], "usage": _USAGE} | _CHUNK,
    "[DONE]",
]
TOOL = [_chunk({"tool_calls": [_CALL]}), _chunk({"tool_calls": [_MORE]}), _chunk({}, "tool_calls")]
TWO = [
    *(_chunk({"content": "a"}), _chunk({"content": "b"}, None, 1), _chunk({}, "stop")),
    _chunk({}, "stop", 1),
]
FAILED_CHUNK = {"error": {"code": 502, "message": "Provider disconnected"}} | _chunk({}, "error")

_MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "content": [],
    "model": "x",
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 0},
}
_TOOL_USE = {"type": "tool_use", "id": "t", "name": "f", "input": {}}


def _anthropic(block: dict[str, Any], delta: dict[str, Any], reason: str) -> list[Any]:
    return [
        {"type": "message_start", "message": _MESSAGE},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]


CLAUDE = _anthropic({"type": "text", "text": ""}, {"type": "text_delta", "text": "a"}, "end_turn")
CLAUDE_TOOL = _anthropic(
    _TOOL_USE, {"type": "input_json_delta", "partial_json": '{"a":1}'}, "tool_use"
)


def _response(status: str, **more: Any) -> dict[str, Any]:
    return {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "x",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": status,
        "instructions": "Never mention insufficient_quota.",
        "error": None,
        **more,
    }


def _event(kind: str, number: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "sequence_number": number, **more}


_AT = {"item_id": "i", "output_index": 0, "content_index": 0, "logprobs": []}
RESPONSES = [
    _event("response.created", 0, response=_response("in_progress")),
    _event("response.output_text.delta", 1, delta="a", **_AT),
    _event("response.function_call_arguments.delta", 2, delta="{", item_id="i", output_index=1),
]
COMPLETED = _event("response.completed", 3, response=_response("completed"))
INCOMPLETE = _event("response.incomplete", 3, response=_response("incomplete"))
FAILED = _event(
    "response.failed",
    3,
    response=_response("failed", error={"code": "rate_limit_exceeded", "message": "Slow down"}),
)
ERROR = _event("error", 3, code="server_error", message="We had a problem", param=None)


def _gemini(parts: list[Any], reason: str | None = None) -> dict[str, Any]:
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
    return {"candidates": [candidate | ({"finishReason": reason} if reason else {})]}


GEMINI = [
    *(_gemini([{"text": "a"}]), _gemini([{"functionCall": {"name": "f", "args": {"a": 1}}}])),
    _gemini([{"text": ""}], "STOP"),
]
BLOCKED = {"promptFeedback": {"blockReason": "SAFETY"}}
OVERLOADED = {"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}

OLLAMA = [
    {"model": "x", "created_at": "2026-01-01T00:00:00Z", "done": done, "done_reason": reason}
    | {"message": {"role": "assistant", "content": "a"}}
    for done, reason in ((False, None), (False, None), (True, "stop"))
]

BODIES: dict[str, list[Any]] = {
    "chat": CHAT,
    "chat-cut": CHAT[:2],
    "chat-usage-cut": CHAT[:3],
    "chat-tool": TOOL,
    "chat-tool-cut": TOOL[:2],
    "chat-call": [TOOL[0], TOOL[2]],
    "chat-call-cut": TOOL[:1],
    "chat-two": TWO,
    "chat-two-cut": TWO[:3],
    "chat-failed": [CHAT[0], FAILED_CHUNK],
    "chat-reason": [CHAT[0], _chunk({}, "error")],
    "responses": [*RESPONSES, COMPLETED],
    "responses-incomplete": [*RESPONSES, INCOMPLETE],
    "responses-failed": [*RESPONSES, FAILED],
    "responses-error": [*RESPONSES, ERROR],
    "responses-cut": RESPONSES,
    "claude": CLAUDE,
    "claude-cut": CLAUDE[:4],
    "claude-tool": CLAUDE_TOOL,
    "claude-tool-cut": CLAUDE_TOOL[:4],
    "gemini": GEMINI,
    "gemini-cut": GEMINI[:2],
    "gemini-blocked": [BLOCKED],
    "gemini-error": [GEMINI[0], OVERLOADED],
    "ollama": OLLAMA,
    "ollama-cut": OLLAMA[:2],
    "ollama-error": [OLLAMA[0], {"error": "model runner has unexpectedly stopped"}],
    "empty": [],
}


class Handler(BaseHTTPRequestHandler):
    """Streams the body that the path's first part names, in chunks, and ends it cleanly."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        name = self.path.split("/")[1]
        lines = name.startswith("ollama") or (name == "empty" and "/api/" in self.path)
        self.send_response(200)
        kind = "application/x-ndjson" if lines else "text/event-stream"
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in BODIES[name]:
            data = (f"{json.dumps(event)}\n" if lines else _sse(event)).encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    """Whose clients may leave without a word."""

    daemon_threads = True

    def handle_error(self, *args: object) -> None:
        pass


def _sse(event: Any) -> str:
    if isinstance(event, str):
        return f"data: {event}\n\n"
    named = f"event: {event['type']}\n" if "type" in event else ""
    return f"{named}data: {json.dumps(event)}\n\n"


def openai_cases(url: str) -> list[Case]:
    """The OpenAI SDK: chat completions, the same with its helper and without asyncio, responses."""
    import openai

    def client(name: str) -> Any:
        return openai.AsyncOpenAI(api_key="k", base_url=f"{url}/{name}", max_retries=0)

    def sync(name: str) -> Any:
        return openai.OpenAI(api_key="k", base_url=f"{url}/{name}", max_retries=0)

    def chat(name: str, of: Any = client) -> Any:
        return of(name).chat.completions.create(model="x", messages=MESSAGES, stream=True)

    def helper(name: str) -> Any:
        return client(name).chat.completions.stream(model="x", messages=MESSAGES)

    names = ("", "-cut", "-usage-cut", "-tool", "-tool-cut", "-two", "-two-cut", "-failed")
    more = ("", "-incomplete", "-failed", "-error", "-cut")
    return [
        *((f"openai chat{n}", lambda n=n: chat(f"chat{n}")) for n in (*names, "-reason")),
        ("openai chat-empty", lambda: chat("empty")),
        *((f"openai helper{n}", lambda n=n: helper(f"chat{n}")) for n in ("", "-cut")),
        *((f"openai sync{n}", lambda n=n: chat(f"chat{n}", sync)) for n in ("", "-cut")),
        *(
            (
                f"openai responses{n}",
                lambda n=n: client(f"responses{n}").responses.create(
                    model="x", input="hi", stream=True
                ),
            )
            for n in more
        ),
    ]


def groq_cases(url: str) -> list[Case]:
    """The Groq SDK."""
    import groq

    def chat(name: str) -> Any:
        client = groq.AsyncGroq(api_key="k", base_url=f"{url}/{name}", max_retries=0)
        return client.chat.completions.create(model="x", messages=MESSAGES, stream=True)

    return [(f"groq chat{n}", lambda n=n: chat(f"chat{n}")) for n in ("", "-cut")]


def anthropic_cases(url: str) -> list[Case]:
    """The Anthropic SDK: its raw events, and its helper."""
    import anthropic

    def messages(name: str) -> Any:
        return anthropic.AsyncAnthropic(
            api_key="k", base_url=f"{url}/{name}", max_retries=0
        ).messages

    def ask(name: str) -> Any:
        return messages(name).create(model="x", max_tokens=9, messages=MESSAGES, stream=True)

    def helper(name: str) -> Any:
        return messages(name).stream(model="x", max_tokens=9, messages=MESSAGES)

    return [
        *((f"anthropic{n}", lambda n=n: ask(f"claude{n}")) for n in ("", "-cut")),
        *((f"anthropic{n}", lambda n=n: ask(f"claude{n}")) for n in ("-tool", "-tool-cut")),
        ("anthropic-empty", lambda: ask("empty")),
        *((f"anthropic helper{n}", lambda n=n: helper(f"claude{n}")) for n in ("", "-cut")),
    ]


def google_cases(url: str) -> list[Case]:
    """google-genai."""
    from google import genai

    def ask(name: str) -> Any:
        client = genai.Client(api_key="k", http_options={"base_url": f"{url}/{name}"})
        return client.aio.models.generate_content_stream(model="x", contents="hi")

    names = ("", "-cut", "-blocked", "-error")
    return [
        *((f"google{n}", lambda n=n: ask(f"gemini{n}")) for n in names),
        ("google-empty", lambda: ask("empty")),
    ]


def mistral_cases(url: str) -> list[Case]:
    """The Mistral SDK."""
    try:
        from mistralai import Mistral
    except ImportError:
        from mistralai.client import Mistral

    def ask(name: str) -> Any:
        client = Mistral(api_key="k", server_url=f"{url}/{name}", retry_config=None)
        return client.chat.stream_async(model="x", messages=MESSAGES)

    # Mistral sends a tool call in one piece; its package refuses one without a name.
    names = ("", "-cut", "-call", "-call-cut", "-reason")
    return [(f"mistral chat{n}", lambda n=n: ask(f"chat{n}")) for n in names]


def ollama_cases(url: str) -> list[Case]:
    """The Ollama client."""
    import ollama

    def ask(name: str) -> Any:
        return ollama.AsyncClient(host=f"{url}/{name}").chat(
            model="x", messages=MESSAGES, stream=True
        )

    return [
        *((f"ollama{n}", lambda n=n: ask(f"ollama{n}")) for n in ("", "-cut", "-error")),
        ("ollama-empty", lambda: ask("empty")),
    ]


PROVIDERS = (
    *(openai_cases, groq_cases, anthropic_cases, google_cases, mistral_cases, ollama_cases),
)


async def entered(made: Any) -> AsyncIterator[Any]:
    """What a package returned, awaited and entered until it is a stream."""
    if inspect.isawaitable(made):
        made = await made
    if hasattr(made, "__aenter__") and not hasattr(made, "__aiter__"):
        async with made as stream:
            yield stream
    else:
        yield made


async def told(case: str, make: Callable[[], Any]) -> dict[str, Any]:
    """What the package alone says at the stream's end, and what `watch` says."""
    import lastword
    from lastword.inprocess.streams import watch

    line: dict[str, Any] = {"case": case}
    for who in ("package", "watch"):
        items = 0
        try:
            async for stream in entered(make()):
                if who == "watch":
                    async for _ in watch(stream, on_item=lambda: None):
                        items += 1
                elif hasattr(stream, "__aiter__"):
                    async for _ in stream:
                        items += 1
                else:
                    items = len(list(stream))
        except Exception as error:  # noqa: BLE001 - any exception is what is wanted
            line[who] = type(error).__name__
            if who == "watch":
                verdict = lastword.classify(error)
                line |= {"type": verdict.type, "retryable": verdict.retryable}
                line |= {"reason": verdict.reason}
                line |= {key: getattr(error, key, None) for key in ("dialect", "body")}
        line[f"{who}_items"] = items
    return line


async def main() -> None:
    """Read everything twice, print a line for each case."""
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for cases in PROVIDERS:
        for case, make in cases(f"http://127.0.0.1:{server.server_port}"):
            async with asyncio.timeout(TIMEOUT_SECONDS):
                print(json.dumps(await told(case, make), default=str), flush=True)
    server.shutdown()


if __name__ == "__main__":
    asyncio.run(main())

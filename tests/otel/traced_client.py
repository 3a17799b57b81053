"""A client that is traced: ``python traced_client.py PROMPTS… -- COMMAND``.

Each prompt is sent within a span of its own, which its `_meta` names; the frames that came back
are printed. The SDK is set up as any program does it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import inject
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor


class Client:
    """An agent's process, and a client that waits for each answer."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self.agent = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        self._next_id = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a request."""
        assert self.agent.stdin is not None
        assert self.agent.stdout is not None
        self._next_id += 1
        request = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        self.agent.stdin.write(json.dumps(request).encode() + b"\n")
        self.agent.stdin.flush()
        for line in self.agent.stdout:
            sys.stdout.write(line.decode())
            frame: dict[str, Any] = json.loads(line)
            if frame.get("id") == self._next_id and "method" not in frame:
                return frame
        raise SystemExit("the agent ended")

    def close(self) -> int:
        """Leave; gives the agent's exit status."""
        assert self.agent.stdin is not None
        self.agent.stdin.close()
        return self.agent.wait(20)


def main(arguments: list[str]) -> int:
    """Take the turns."""
    split = arguments.index("--")
    provider = TracerProvider(resource=Resource({"service.name": "editor"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    tracer = trace.get_tracer("editor", tracer_provider=provider)
    client = Client(arguments[split + 1 :])
    client.ask("initialize", protocolVersion=1)
    session = client.ask("session/new", cwd="/", mcpServers=[])["result"]["sessionId"]
    for text in arguments[:split]:
        with tracer.start_as_current_span(f"send {text}"):
            meta: dict[str, str] = {}
            inject(meta)
            block = {"type": "text", "text": text}
            client.ask("session/prompt", sessionId=session, prompt=[block], _meta=meta)
    return client.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

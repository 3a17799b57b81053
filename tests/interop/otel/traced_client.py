"""A client that is traced: ``python traced_client.py PROMPTS… -- COMMAND``.

Each prompt is sent within a span of its own, which its `_meta` names; the frames that came back
are printed. The SDK is set up as any program does it.
"""

from __future__ import annotations

import sys
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import inject
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from lastword.kit.peer import StrictClient

FUSE_SECONDS = 60.0


class TracedClient(StrictClient):
    """A client that waits for each answer, and prints what comes."""

    replies = False

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        answer = self.answer_to(self.request(method, params), FUSE_SECONDS)
        if answer is None or answer.frame is None:
            raise SystemExit("the agent ended")
        return answer.frame

    def leave(self) -> int:
        """Print every frame, leave, and give the agent's exit status."""
        self.close_stdin()
        self.wait_for_exit(FUSE_SECONDS)
        self.listen(FUSE_SECONDS)
        for event in self.events:
            if not event.sent:
                sys.stdout.write(event.raw.decode() + "\n")
        sys.stderr.write(self.stderr.data.decode(errors="replace"))
        return self.exit_code or 0


def main(arguments: list[str]) -> int:
    split = arguments.index("--")
    provider = TracerProvider(resource=Resource({"service.name": "editor"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    tracer = trace.get_tracer("editor", tracer_provider=provider)
    client = TracedClient(arguments[split + 1 :])
    client.ask("initialize", protocolVersion=1)
    session = client.ask("session/new", cwd="/", mcpServers=[])["result"]["sessionId"]
    for text in arguments[:split]:
        with tracer.start_as_current_span(f"send {text}"):
            meta: dict[str, str] = {}
            inject(meta)
            block = {"type": "text", "text": text}
            client.ask("session/prompt", sessionId=session, prompt=[block], _meta=meta)
    return client.leave()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

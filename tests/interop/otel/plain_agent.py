"""An agent that has never heard of lastword or OpenTelemetry, for behind the sidecar.

A turn `work` calls two tools, one of which fails, and says which `traceparent` it was given;
`limit` is refused by the provider; `leak` says the environment's `LEAKED_TOKEN` wherever an agent
can.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from lastword.kit.agent.plain import Output, PlainAgent, text_of


class Agent(PlainAgent):
    def __init__(self) -> None:
        super().__init__(sys.stdin.buffer, Output())
        self.info = {"name": "plain", "version": "7"}

    def prompt(self, request_id: object, params: dict[str, Any]) -> None:
        self.begin_turn(request_id, params)
        text = text_of(params)
        if text == "leak":
            self.leak(request_id, os.environ["LEAKED_TOKEN"])
        elif text == "limit":
            self.answer(request_id, error={"code": -32603, "message": "429 Too Many Requests"})
        else:
            self.work(params.get("_meta", {}).get("traceparent", "none"))
            self.end_turn(request_id)

    def work(self, traceparent: str) -> None:
        for call, tool, status in (("c1", "read", "completed"), ("c2", "execute", "failed")):
            self.update("tool_call", toolCallId=call, title="Look", kind=tool, status="pending")
            self.update("tool_call_update", toolCallId=call, status=status)
        self.say(f"given {traceparent}")

    def leak(self, request_id: object, secret: str) -> None:
        sys.stderr.write(f"Authorization: Bearer {secret}\n")
        sys.stderr.flush()
        call = {"toolCallId": "c1", "title": secret, "kind": "read", "status": "pending"}
        raw = {"env": {"TOKEN": secret}}
        self.update("tool_call", **call, rawInput=raw)
        error = {"code": -32603, "message": f"401 for {secret}", "data": raw}
        self.answer(request_id, error=error)


if __name__ == "__main__":
    Agent().run()

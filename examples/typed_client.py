"""A client that asks for typed errors, in front of an agent that crashes.

Run it: `python examples/typed_client.py [-- YOUR_AGENT]`. It needs no key and no network.
"""

import json
import subprocess
import sys

AGENT = [sys.executable, "-m", "lastword.kit.demo", "crash"]
COMMAND = [sys.executable, "-m", "lastword", "run", "--", *(sys.argv[2:] or AGENT)]

# Advertising the extension is all that a client has to do to get failures typed.
CAPABILITIES = {"_meta": {"agent_error": {"version": 1, "retry": True}}}


def main() -> None:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        to_agent, from_agent = agent.stdin, agent.stdout
        assert to_agent is not None
        assert from_agent is not None

        def call(request_id: int, method: str, **params: object) -> dict:
            request = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
            to_agent.write(json.dumps(request).encode() + b"\n")
            to_agent.flush()
            for line in from_agent:
                message = json.loads(line)
                update = message.get("params", {}).get("update", {})
                kind = update.get("sessionUpdate")
                if kind == "agent_error":
                    show(update["error"])
                elif kind == "agent_retry":
                    why = update.get("error", {}).get("type", "unknown")
                    print(f"trying again in {update.get('wait_seconds', 0)} s: {why}")
                elif kind == "agent_message_chunk":
                    print("it says:", update["content"]["text"])
                if message.get("id") == request_id and "method" not in message:
                    return message
            raise SystemExit("the connection ended without an answer")

        call(0, "initialize", protocolVersion=1, clientCapabilities=CAPABILITIES)
        session = call(1, "session/new", cwd="/", mcpServers=[])["result"]["sessionId"]
        text = [{"type": "text", "text": "Why does the parser fail?"}]
        answer = call(2, "session/prompt", sessionId=session, prompt=text)
        print("the turn ended:", answer.get("result") or answer["error"]["message"])
        to_agent.close()


def show(error: dict) -> None:
    print(f"{error['type']}: {error['message']}")
    if error["retryable"] and error.get("retry_safety") == "auto":
        print(f"a retry is safe, in {error.get('retry_after_seconds', 0)} s")
    else:
        print("ask before trying again")


if __name__ == "__main__":
    main()

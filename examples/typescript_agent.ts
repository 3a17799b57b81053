// An agent on the official TypeScript SDK whose model provider limits it: the client gets a typed
// error with the wait. The model is made up, so that it runs without a key or a network.
import { randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { guard, reportRetry } from "lastword/guard";

/** A provider's package throws an error with the status and the headers of the answer. */
async function askModel(question: string): Promise<string> {
  if (question.includes("hello")) return "Hello!";
  const refused = new Error("429 Too many requests");
  throw Object.assign(refused, { status: 429, headers: { "retry-after": "20" } });
}

const agent = guard(acp.agent({ name: "typescript-agent" }))
  .onRequest("initialize", () => ({ protocolVersion: 1, agentCapabilities: {} }))
  .onRequest("session/new", () => ({ sessionId: randomUUID() }))
  .onRequest("session/prompt", async ({ params: { sessionId, prompt }, client }) => {
    const question = prompt.map((block) => (block.type === "text" ? block.text : "")).join("");
    for (let attempt = 1; ; attempt += 1) {
      try {
        const content = { type: "text", text: await askModel(question) } as const;
        const update = { sessionUpdate: "agent_message_chunk", content } as const;
        await client.notify("session/update", { sessionId, update });
        return { stopReason: "end_turn" };
      } catch (error) {
        if (attempt === 2) throw error; // the guard ends the turn with it
        const retry = { attempt: attempt + 1, maxAttempts: 2, waitSeconds: 0 };
        await reportRetry(client, sessionId, error, retry);
      }
    }
  });

const output: WritableStream<Uint8Array> = Writable.toWeb(process.stdout);
const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>;
agent.connect(acp.ndJsonStream(output, input));

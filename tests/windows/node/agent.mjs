// An agent on the official TypeScript SDK, which fails as its argument says.
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [failure] = process.argv.slice(2);
const { agent: asked, client } = methods;

agent({ name: "windows-agent" })
  .onRequest(asked.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
  .onRequest(asked.session.new, () => ({ sessionId: "s1" }))
  .onRequest(asked.session.prompt, async ({ params: { sessionId }, client: own }) => {
    if (failure === "abort") process.abort();
    if (failure === "limit") throw new Error("429 rate_limit_error: Number of requests exceeded");
    const content = { type: "text", text: "für dich" };
    await own.notify(client.session.update, { sessionId, update: { sessionUpdate: "agent_message_chunk", content } });
    return { stopReason: "end_turn" };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

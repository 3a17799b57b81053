/**
 * A small agent on the official TypeScript SDK, as its README says to build one, with the SDK's
 * folder in its argument: two pieces of text, a tool call that asks for permission, an end. It has
 * no model. The SDK's package brings no example of its own.
 */
import { randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const sdk = await import(pathToFileURL(`${process.argv[2]}/dist/v1/stable/acp.js`).href);
const { agent: asked, client } = sdk.methods;
const PAUSE_MS = 500;
const sessions = new Map();

async function turn(sessionId, own, signal) {
  const show = (update) => own.notify(client.session.update, { sessionId, update });
  const say = (text) =>
    show({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  await say("Let me look at the configuration. ");
  await sleep(PAUSE_MS, undefined, { signal });
  const toolCall = { toolCallId: "edit-1", title: "Edit the configuration", kind: "edit" };
  await show({ sessionUpdate: "tool_call", ...toolCall, status: "pending" });
  const options = [
    { optionId: "yes", name: "Edit", kind: "allow_once" },
    { optionId: "no", name: "Leave it", kind: "reject_once" },
  ];
  const { outcome } = await own.request(client.session.requestPermission, {
    sessionId,
    toolCall,
    options,
  });
  const status = outcome.optionId === "yes" ? "completed" : "failed";
  await show({ sessionUpdate: "tool_call_update", toolCallId: "edit-1", status });
  if (outcome.outcome === "cancelled") return "cancelled";
  await say("It is as it should be.");
  return "end_turn";
}

sdk
  .agent({ name: "interop-agent" })
  .onRequest(asked.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: false },
    agentInfo: { name: "interop-agent", version: "1.0.0" },
  }))
  .onRequest(asked.session.new, () => {
    const sessionId = randomUUID();
    sessions.set(sessionId, undefined);
    return { sessionId };
  })
  .onRequest(asked.session.prompt, async ({ params, client: own }) => {
    if (!sessions.has(params.sessionId)) throw sdk.RequestError.invalidParams(params);
    const cancelled = new AbortController();
    sessions.set(params.sessionId, cancelled);
    try {
      return { stopReason: await turn(params.sessionId, own, cancelled.signal) };
    } catch (error) {
      if (cancelled.signal.aborted) return { stopReason: "cancelled" };
      throw error;
    }
  })
  .onNotification(asked.session.cancel, ({ params }) => sessions.get(params.sessionId)?.abort())
  .connect(sdk.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

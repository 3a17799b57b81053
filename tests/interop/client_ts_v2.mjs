/**
 * A client on the official TypeScript SDK's experimental API for protocol version 2. Writes down
 * everything it is given, as `client_ts.mjs` does. A turn there ends with the idle state, which is
 * reported as its `answer`; the prompt's own answer comes when the agent has taken the prompt in.
 */
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk/experimental/v2";
import { describe, end, fused, parse, pause, report, reportTurn, start, takeConsole, underFuse } from "./client_parts.mjs";

takeConsole();
const options = parse(process.argv.slice(2), { protocol: "2", name: "interop-ts-v2" });
const agent = start(options);
let idle = () => {};

function noteUpdate({ params }) {
  const { sessionId, update } = params;
  report("update", { kind: update.sessionUpdate, session: sessionId, update });
  if (update.sessionUpdate === "state_update" && update.state === "idle") idle(update);
}

function allowOnce({ params }) {
  const chosen = params.options.find((option) => option.kind === "allow_once");
  return { outcome: chosen ? { outcome: "selected", optionId: chosen.optionId } : { outcome: "cancelled" } };
}

async function turn(connection, sessionId, n, text) {
  report("prompt", { n });
  const ended = new Promise((resolve) => {
    idle = resolve;
  });
  const prompt = { sessionId, prompt: [{ type: "text", text }] };
  const taken = connection.request(methods.agent.session.prompt, prompt);
  await reportTurn(n, taken.then(() => ended), options);
}

async function converse(connection) {
  let stage = "initialize";
  try {
    const hello = {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: options.meta ? { _meta: JSON.parse(options.meta) } : {},
      info: { name: options.name, version: "1.0.0" },
    };
    report("initialized", { result: await fused(connection.request(methods.agent.initialize, hello), options) });
    stage = "session/new";
    const opening = { cwd: options.cwd, mcpServers: [] };
    const { sessionId } = await fused(connection.request(methods.agent.session.new, opening), options);
    report("session", { id: sessionId });
    for (const [n, text] of options.prompt.entries()) await turn(connection, sessionId, n, text);
    if (options.probe) {
      stage = "probe";
      const again = await fused(connection.request(methods.agent.session.new, opening), options);
      await turn(connection, again.sessionId, options.prompt.length, "hello");
    }
    await pause(Number(options.linger) * 1000);
  } catch (error) {
    report("failed", { stage, ...describe(error)[1] });
  }
}

const connection = client({ name: options.name })
  .onRequest(methods.client.session.requestPermission, allowOnce)
  .onNotification(methods.client.session.update, noteUpdate)
  .connect(ndJsonStream(Writable.toWeb(agent.child.stdin), Readable.toWeb(agent.child.stdout)));
const status = await underFuse(converse(connection.agent), options);
await end(agent);
process.exit(status);

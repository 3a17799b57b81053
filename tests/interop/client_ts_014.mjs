/**
 * A client on the official TypeScript SDK of early 2026 (0.14), whose API is one connection object.
 * Writes down everything it is given, as `client_ts.mjs` does; `agent_error` is foreign to its SDK.
 */
import { Readable, Writable } from "node:stream";
import { ClientSideConnection, PROTOCOL_VERSION, ndJsonStream } from "sdk-0-14";
import { describe, end, fused, parse, pause, report, reportTurn, start, takeConsole, underFuse, withErrors } from "./client_parts.mjs";

takeConsole();
const options = parse(process.argv.slice(2), { protocol: "1", name: "interop-ts-014" });
const agent = start(options);

function noteUpdate({ sessionId, update }) {
  report("update", { kind: update.sessionUpdate, session: sessionId, update });
}

const user = {
  async sessionUpdate(params) {
    noteUpdate(params);
  },
  async requestPermission(params) {
    const chosen = params.options.find((option) => option.kind === "allow_once");
    return { outcome: chosen ? { outcome: "selected", optionId: chosen.optionId } : { outcome: "cancelled" } };
  },
};

async function turn(connection, sessionId, n, text) {
  report("prompt", { n });
  await reportTurn(n, connection.prompt({ sessionId, prompt: [{ type: "text", text }] }), options);
}

async function converse(connection) {
  let stage = "initialize";
  try {
    const hello = {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: options.meta ? { _meta: JSON.parse(options.meta) } : {},
      clientInfo: { name: options.name, version: "1.0.0" },
    };
    report("initialized", { result: await fused(connection.initialize(hello), options) });
    stage = "session/new";
    const opening = { cwd: options.cwd, mcpServers: [] };
    const { sessionId } = await fused(connection.newSession(opening), options);
    report("session", { id: sessionId });
    for (const [n, text] of options.prompt.entries()) await turn(connection, sessionId, n, text);
    if (options.probe) {
      stage = "probe";
      const again = await fused(connection.newSession(opening), options);
      await turn(connection, again.sessionId, options.prompt.length, "hello");
    }
    await pause(Number(options.linger) * 1000);
  } catch (error) {
    report("failed", { stage, ...describe(error)[1] });
  }
}

const plain = ndJsonStream(Writable.toWeb(agent.child.stdin), Readable.toWeb(agent.child.stdout));
const stream = options["own-stream"] ? withErrors(plain, noteUpdate) : plain;
const status = await underFuse(converse(new ClientSideConnection(() => user, stream)), options);
await end(agent);
process.exit(status);

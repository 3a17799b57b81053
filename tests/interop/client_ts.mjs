/**
 * A client on the official TypeScript SDK (its stable v1 API) that writes down everything it is
 * given. Owns: one session with the command after `--`, and one JSON line on stdout for each thing
 * that happened: `wire` is what passed over the pipes, `update` is what the SDK delivered to user
 * code, `log` is what the SDK itself complained about. Does not own: any judgement. It knows
 * nothing of lastword, and `agent_error` is foreign to its SDK. `client_py.py` writes the same.
 */
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { describe, end, fused, parse, pause, report, reportTurn, start, takeConsole, underFuse, withErrors } from "./client_parts.mjs";

const REPORTED_LINE = 1024 * 1024;

takeConsole();
const options = parse(process.argv.slice(2), {
  protocol: "1",
  name: "interop-ts",
  more: {
    "agent-error": { type: "boolean", default: false },
    "stop-reason": { type: "boolean", default: false },
    "undrained-stderr": { type: "boolean", default: false },
  },
});
const agent = start(options);

function reportLine(direction, line) {
  if (line.length > REPORTED_LINE) {
    report("wire", { direction, bytes: line.length });
    return;
  }
  try {
    report("wire", { direction, message: JSON.parse(line) });
  } catch {
    report("wire", { direction, raw: line });
  }
}

/** Passes bytes on unchanged and notes each whole line of them. */
function tee(direction) {
  const decoder = new TextDecoder();
  let pending = [];
  return new TransformStream({
    transform(chunk, controller) {
      pending.push(decoder.decode(chunk, { stream: true }));
      if (pending.at(-1).includes("\n")) {
        const lines = pending.join("").split("\n");
        pending = [lines.pop()];
        for (const line of lines) reportLine(direction, line);
      }
      controller.enqueue(chunk);
    },
    flush() {
      const rest = pending.join("");
      if (rest) reportLine(direction, rest);
      if (direction === "in") report("eof");
    },
  });
}

function streamOf({ child }) {
  const outgoing = tee("out");
  outgoing.readable.pipeTo(Writable.toWeb(child.stdin)).catch(() => {});
  return ndJsonStream(outgoing.writable, Readable.toWeb(child.stdout).pipeThrough(tee("in")));
}

function allowOnce({ params }) {
  const kinds = params.options.map((option) => option.kind);
  report("permission", { session: params.sessionId, options: kinds });
  const chosen = params.options.find((option) => option.kind === "allow_once");
  return { outcome: chosen ? { outcome: "selected", optionId: chosen.optionId } : { outcome: "cancelled" } };
}

function noteUpdate({ sessionId, update }) {
  report("update", { kind: update.sessionUpdate, session: sessionId, update });
}

function capabilities() {
  if (options.meta) return { _meta: JSON.parse(options.meta) };
  if (!options["agent-error"]) return {};
  const extension = { version: 1, ...(options["stop-reason"] ? { stop_reason: true } : {}) };
  return { _meta: { agent_error: extension } };
}

async function turn(connection, sessionId, n, text) {
  report("prompt", { n });
  const prompt = { sessionId, prompt: [{ type: "text", text }] };
  await reportTurn(n, connection.request(methods.agent.session.prompt, prompt), options);
}

async function converse(connection) {
  let stage = "initialize";
  try {
    const hello = {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: capabilities(),
      clientInfo: { name: options.name, version: "1.0.0" },
    };
    const result = await fused(connection.request(methods.agent.initialize, hello), options);
    report("initialized", { result });
    stage = "session/new";
    const opening = { cwd: options.cwd, mcpServers: [] };
    const { sessionId } = await fused(connection.request(methods.agent.session.new, opening), options);
    report("session", { id: sessionId });
    for (const [n, text] of options.prompt.entries()) {
      await turn(connection, sessionId, n, text);
    }
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

const plain = streamOf(agent);
const connection = client({ name: options.name })
  .onRequest(methods.client.session.requestPermission, allowOnce)
  .onNotification(methods.client.session.update, ({ params }) => noteUpdate(params))
  .connect(options["own-stream"] ? withErrors(plain, noteUpdate) : plain);
const status = await underFuse(converse(connection.agent), options);
await end(agent);
process.exit(status);
